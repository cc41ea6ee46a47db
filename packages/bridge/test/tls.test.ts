import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asking, startProgram } from "./program.js";
import { receive, run } from "./running.js";
import { until } from "./until.js";

const folder = mkdtempSync(join(tmpdir(), "bridge-tls-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("with a certificate", { tags: ["needs-openssl"] }, () => {
  let tls: { key: string; cert: string };
  beforeAll(() => {
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
    execFileSync(
      "openssl",
      ["req", "-x509", ...curve, "-nodes", "-days", "2", "-keyout", key, "-out", cert, ...subject],
      { stdio: "ignore" },
    );
    tls = { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  });

  test("attaches over TLS, and again after the connection was cut", async () => {
    const program = await startProgram(asking);
    const receiver = await receive({ tls });
    const agent = new Agent({ ca: tls.cert });
    const { bridge } = run(program, receiver, { insecure: false, agent });
    await receiver.attached();
    await receiver.kill();
    await until(() => JSON.stringify(bridge.status()).includes("waiting"));
    await receiver.start();
    await receiver.attached();
    expect(bridge.status()).toMatchObject({ state: "connected", remoteUrl: receiver.url });
    agent.destroy();
  });

  test("an untrusted certificate ends it before the token is sent, even with --insecure", async () => {
    for (const insecure of [false, true]) {
      const program = await startProgram(asking);
      const receiver = await receive({ tls });
      const exit = await run(program, receiver, { insecure }).exit;
      expect(exit).toMatchObject({ code: 1, message: expect.stringContaining("self-signed certificate") });
      expect(receiver.calls).toEqual([]);
    }
  });

  test("a remote that requires a client certificate is not reported as one without TLS", async () => {
    const program = await startProgram(asking);
    const receiver = await receive({ tls: { ...tls, ca: tls.cert, requestCert: true, maxVersion: "TLSv1.2" } });
    const exit = await run(program, receiver, { agent: new Agent({ ca: tls.cert }) }).exit;
    expect(exit).toEqual({
      code: 1,
      message: expect.stringMatching(/^registering failed: the remote refused the TLS handshake: .*alert/),
    });
  });

  test("a WebSocket without TLS is refused after a registration over TLS", async () => {
    const program = await startProgram(asking);
    const receiver = await receive({ tls, wsUrl: (port) => `ws://127.0.0.1:${port}/ws` });
    const exit = await run(program, receiver, { insecure: false, agent: new Agent({ ca: tls.cert }) }).exit;
    expect(exit).toMatchObject({ code: 1, message: expect.stringContaining("not encrypted") });
  });
});

test("an address without TLS ends it with this reason", async () => {
  const program = await startProgram(asking);
  const receiver = await receive();
  const exit = await run(program, receiver, { remoteUrl: receiver.url.replace("http:", "https:") }).exit;
  expect(exit).toEqual({ code: 1, message: "registering failed: the remote does not speak TLS" });
});
