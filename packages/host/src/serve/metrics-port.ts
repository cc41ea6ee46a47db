/** Serves `/metrics` on a port of its own, on loopback only and without a token. */
import { createServer } from "node:http";

/** Returns a function that stops the server. Throws the socket's error. */
export async function listenMetrics(port: number, text: () => Promise<string>): Promise<() => void> {
  const server = createServer({ headersTimeout: 5000, requestTimeout: 5000 }, ({ method, url }, response) => {
    const isAsked = method === "GET" && url?.split("?", 1)[0] === "/metrics";
    response.writeHead(isAsked ? 200 : 404, { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" });
    const body = isAsked ? text() : Promise.resolve("not found\n");
    body.then(
      (all) => response.end(all),
      () => response.destroy(),
    );
  });
  server.maxConnections = 16;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", resolve);
  });
  server.unref();
  return () => {
    server.close();
    server.closeAllConnections();
  };
}
