// `RECEIVER_TOKEN=… node start.mjs`. Further variables: PORT (8080), HOST (127.0.0.1), PUBLIC_URL, TLS_CERT and TLS_KEY (files).
import { readFileSync } from "node:fs";
import { startReceiver } from "./receiver.mjs";

const { RECEIVER_TOKEN: token, PORT = "8080", HOST: hostname = "127.0.0.1", PUBLIC_URL: publicUrl } = process.env;
const { TLS_CERT, TLS_KEY } = process.env;
const tls =
  TLS_CERT && TLS_KEY ? { cert: readFileSync(TLS_CERT, "utf8"), key: readFileSync(TLS_KEY, "utf8") } : undefined;

if (!token) {
  console.error("set RECEIVER_TOKEN to what programs will show as FERRET_BRIDGE_TOKEN");
  process.exit(2);
}
const receiver = await startReceiver({ token, port: Number(PORT), hostname, publicUrl, tls });
console.log(`receiver on ${receiver.url}`);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => receiver.close().then(() => process.exit(0)));
