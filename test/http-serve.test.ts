// What `serve` promises about who may reach it and how it ends, on the built program.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { get } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { addressOf, startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";
import { startServer, until } from "./server.js";

const onTls = { tags: ["needs-openssl"] };

const certificate = () => {
  const folder = scratchTree({});
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  execFileSync(
    "openssl",
    ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"].concat([
      "-subj",
      "/CN=localhost",
      "-keyout",
      key,
      "-out",
      cert,
    ]),
    { stdio: "ignore" },
  );
  return { key, cert };
};

test.each([
  ["all interfaces without a token", ["--host", "0.0.0.0"], "SERVER_TOKEN"],
  ["an empty token", ["--auth-token", ""], "empty"],
  ["a token no header can carry", ["--auth-token", "two words"], "visible ASCII"],
  ["a token file that is not there", ["--auth-token-file", "/nonexistent/token"], "ENOENT"],
  ["a token file that others can read", ["--auth-token-file", "/dev/null"], "others can read"],
  ["half a TLS pair", ["--tls-cert", "README.md"], "--tls-key"],
  ["the other half", ["--tls-key", "README.md"], "--tls-cert"],
  ["a certificate that is none", ["--tls-cert", "README.md", "--tls-key", "README.md"], "tls"],
  ["every origin", ["--cors", "*"], "--cors"],
  ["an origin with a path", ["--cors", "https://app.example/x"], "--cors"],
])("%s is exit 2, before anything is bound", async (_, args, words) => {
  const program = startProgram("otter", ["serve", "--port", "0", ...args]);
  expect(await program.exited).toBe(2);
  expect(program.stderr()).toContain(words);
  expect(program.stderr()).not.toContain("listening");
});

test("over TLS the banner says https, plaintext gets no HTTP answer, and a token opens the door", onTls, async () => {
  const { key, cert } = certificate();
  const tls = ["--tls-cert", cert, "--tls-key", key, "--auth-token", "secret"];
  const address = await addressOf(startProgram("otter", ["serve", "--port", "0", ...tls]));
  expect(address).toMatch(/^https:/);
  const ask = (headers: Record<string, string>) =>
    new Promise<number>((resolve, reject) => {
      get(`${address}/info`, { rejectUnauthorized: false, headers }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      }).on("error", reject);
    });
  expect(await ask({ authorization: "Bearer secret" })).toBe(200);
  expect(await ask({})).toBe(401);
  const plain = connect(Number(new URL(address).port), "127.0.0.1");
  plain.on("error", () => {});
  plain.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  let answer = "";
  plain.on("data", (bytes) => {
    answer += String(bytes);
  });
  await new Promise((resolve) => plain.once("close", resolve));
  expect(answer).not.toContain("200 OK");
});

test("SIGTERM cancels what runs, journals its end, ends the streams and leaves within 10 s", async () => {
  const program = startProgram("otter", ["serve", "--port", "0"]);
  const address = await addressOf(program);
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ prompt: "write note.txt: hello" });
  const created = await fetch(`${address}/sessions`, { method: "POST", headers, body });
  const { session_id } = (await created.json()) as { session_id: string };
  const stream = await fetch(`${address}/session/${session_id}/events`);
  const reader = stream.body!.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes("event: permission_request")) text += decoder.decode((await reader.read()).value);
  const started = performance.now();
  program.child.kill("SIGTERM");
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += decoder.decode(part.value);
  expect(await program.exited).toBe(0);
  expect(performance.now() - started).toBeLessThan(10_000);
  expect(text).toMatch(/"permission_resolved".*"deny"/);
  expect(text).toMatch(/event: result\ndata: .*"cancelled":true/);
});

test("SIGTERM with --drain-timeout lets a turn end, refuses new ones, and then exits 0", async () => {
  const server = await startServer(["--drain-timeout", "60"]);
  const started = await server.ask("POST /sessions", { body: { prompt: "run `sleep 1; echo drained`", mode: "auto" } });
  const { session_id: id } = started.body;
  const frames = server.all(`/sessions/${id}/events`);
  await until(server.frames(`/sessions/${id}/events`), ({ event }) => event === "tool_call");
  server.program.child.kill("SIGTERM");
  await expect
    .poll(async () => (await server.ask("GET /readyz")).body, { timeout: 5000 })
    .toMatchObject({ status: "draining", error: "draining" });
  const refused = await server.ask("POST /sessions", { body: { prompt: "list files" } });
  expect([refused.status, refused.body.error]).toEqual([503, "draining"]);
  expect((await frames).map(({ event }) => event)).toContain("agent_result");
  expect(await server.program.exited).toBe(0);
});

test("the first answer waits for no thread that works on files", { tags: ["needs-linux"] }, async () => {
  const { child, cwd } = startProgram("otter", ["serve", "--acp"]);
  const threads = () => readdirSync(`/proc/${child.pid}/task`).length;
  const ask = async (id: number, method: string, params: object) => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    let said = "";
    while (!said.includes(`"id":${id},"result"`)) said += (await once(child.stdout, "data"))[0];
  };
  await ask(1, "initialize", { protocolVersion: 1, clientCapabilities: {} });
  const before = threads();
  await ask(2, "session/new", { cwd, mcpServers: [] });
  expect(threads() - before).toBe(12);
});

test("many sessions sync at once: a server has threads for it, and what it starts does not see how many", {
  tags: ["needs-linux"],
}, async () => {
  const threadsOf = async (env: Record<string, string>) => {
    const { program, run } = await startServer([], env);
    // By then the threads are used, and so there.
    await run("list files");
    return readdirSync(`/proc/${program.child.pid}/task`).length;
  };
  expect((await threadsOf({})) - (await threadsOf({ UV_THREADPOOL_SIZE: "4" }))).toBe(8);
  const server = await startServer(["--mode", "auto"]);
  const { frames } = await server.run("run `printenv UV_THREADPOOL_SIZE || echo unset`");
  expect(frames.find(({ event }) => event === "tool_result")?.data.metadata.output).toContain("unset");
});
