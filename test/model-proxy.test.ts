// Models behind a proxy: the built program, a proxy that tunnels, and a vendor with a certificate of its own.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer as createProxy } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createClaude } from "../packages/agent/test/vendors/claude.js";
import { startVendor } from "../packages/agent/test/vendors/vendor.js";
import { startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";

test("a model on the other side of HTTPS_PROXY is reached through a tunnel, with the name it was asked for by", {
  tags: ["needs-openssl"],
}, async () => {
  const folder = scratchTree({});
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "1"];
  const named = ["-subj", "/CN=model.invalid", "-addext", "subjectAltName=DNS:model.invalid"];
  expect(spawnSync("openssl", [...made, ...named]).status).toBe(0);
  const vendor = createClaude();
  const running = await startVendor(vendor, [{ says: [{ text: "Hello from afar." }] }]);
  const secure = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { "content-length": _length, host: _host, connection: _kept, ...headers } = request.headers;
    const asked = { method: "POST", headers: headers as Record<string, string>, body: Buffer.concat(chunks) };
    const reply = await fetch(running.url + request.url, asked);
    response.writeHead(reply.status, { "content-type": reply.headers.get("content-type") ?? "" });
    response.end(await reply.text());
  });
  const tunnels: string[] = [];
  const proxy = createProxy();
  proxy.on("connect", (request, socket, head) => {
    tunnels.push(`${request.url} ${request.headers["proxy-authorization"]}`);
    const onward = connect((secure.address() as AddressInfo).port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    for (const end of [onward, socket]) end.on("error", () => {});
  });
  for (const server of [secure, proxy]) await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    running.close();
    secure.close();
    proxy.close();
  });
  const program = startProgram("otter", ["-p", "hello", "--model", vendor.model, "--no-save"], {
    ANTHROPIC_API_KEY: "sk",
    ANTHROPIC_BASE_URL: "https://model.invalid",
    HTTPS_PROXY: `http://me:secret@127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    NODE_EXTRA_CA_CERTS: cert,
  });
  let stdout = "";
  program.child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  program.child.stdin.end();
  expect(await program.exited, program.stderr()).toBe(0);
  expect(stdout).toBe("Hello from afar.\n");
  expect(tunnels).toEqual([`model.invalid:443 Basic ${Buffer.from("me:secret").toString("base64")}`]);
});
