import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { freePort, makeHome, run, start, startServer } from "./program.js";

const OTTER = fileURLToPath(new URL("../../../apps/otter/dist/cli.js", import.meta.url));

async function statusOf(port: number, token: string): Promise<number> {
  return (await fetch(`http://127.0.0.1:${port}/sessions`, { headers: { authorization: `Bearer ${token}` } })).status;
}

it("reads its token again on a hang-up, opens a new log file, and does not end", async () => {
  const home = await makeHome();
  const port = await freePort();
  const [token, log] = [join(home, "token"), join(home, "log.ndjson")];
  writeFileSync(token, "the-first-token", { mode: 0o600 });
  const server = await startServer(home, port, "--auth-token-file", token, "--log-file", log);
  expect(await statusOf(port, "the-first-token")).toBe(200);
  const stream = await fetch(`http://127.0.0.1:${port}/events?list=true`, {
    headers: { authorization: "Bearer the-first-token" },
  });
  const ended = stream.text().catch(() => "cut");
  writeFileSync(token, "the-second-token", { mode: 0o600 });
  renameSync(log, `${log}.old`);
  server.child.kill("SIGHUP");
  await server.until("read again");
  await ended;
  expect(await statusOf(port, "the-first-token")).toBe(401);
  expect(await statusOf(port, "the-second-token")).toBe(200);
  expect(existsSync(log)).toBe(true);
  expect(readFileSync(log, "utf8")).toContain('"message":"read again"');

  writeFileSync(token, "no good", { mode: 0o600 });
  server.child.kill("SIGHUP");
  await server.until("not everything was read again");
  expect(await statusOf(port, "the-second-token")).toBe(200);
  expect(server.child.exitCode).toBeNull();
});

it("tells an editor behind acp --connect whose token has ended that its turn may go on", async () => {
  const home = await makeHome();
  const port = await freePort();
  const file = join(home, "token");
  writeFileSync(file, "the-first-token", { mode: 0o600 });
  const flags = ["--auth-token-file", file, "--model", "offline", "--mode", "auto"];
  const server = await startServer(home, port, ...flags);
  const env = { OTTER_SERVER_TOKEN: "the-first-token" };
  const relay = start(home, ["acp", "--connect", `http://127.0.0.1:${port}`], { env });
  const answerTo = async (id: number, method: string, params: object) => {
    relay.child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    const line = () => relay.said().stdout.match(new RegExp(`^.*"id":${id},"(result|error)".*$`, "m"))?.[0];
    await expect.poll(line, { timeout: 20_000 }).toBeDefined();
    return JSON.parse(line()!);
  };
  await answerTo(1, "initialize", { protocolVersion: 1 });
  const { sessionId } = (await answerTo(2, "session/new", { cwd: home, mcpServers: [] })).result;
  const [command, done] = [join(home, "command"), join(home, "done")];
  const text = `run \`: > ${command}; while [ -e ${command} ]; do sleep 0.1; done; : > ${done}\``;
  const answer = answerTo(3, "session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  await expect.poll(() => existsSync(command), { timeout: 20_000 }).toBe(true);
  writeFileSync(file, "the-second-token");
  server.child.kill("SIGHUP");
  expect((await answer).error).toMatchObject({ code: -32603, data: { code: "outcome_unknown" } });
  expect(existsSync(done)).toBe(false);
  renameSync(command, `${command}.ended`);
  await expect.poll(() => existsSync(done), { timeout: 20_000 }).toBe(true);
});

it("keeps a token from the environment, whatever the configured token file contains", async () => {
  const home = await makeHome();
  const port = await freePort();
  const file = join(home, "token");
  writeFileSync(file, "the-token-of-the-file", { mode: 0o600 });
  const env = { OTTER_SERVER_TOKEN: "the-token-that-was-set", OTTER_AUTH_TOKEN_FILE: file };
  const server = start(home, ["serve", "--port", String(port)], { env });
  await server.until("listening on");
  expect(await statusOf(port, "the-token-that-was-set")).toBe(200);
  server.child.kill("SIGHUP");
  await server.until("read again");
  expect(await statusOf(port, "the-token-that-was-set")).toBe(200);
  expect(await statusOf(port, "the-token-of-the-file")).toBe(401);
});

it("serves metrics on their own port without a token", async () => {
  const home = await makeHome();
  const [port, metrics] = [await freePort(), await freePort()];
  await startServer(home, port, "--auth-token", "a-token-of-our-own", "--metrics-port", String(metrics));
  await statusOf(port, "a-token-of-our-own");
  const response = await fetch(`http://127.0.0.1:${metrics}/metrics`);
  expect(await response.text()).toMatch(/^otter_build_info\{version="/m);
  expect((await fetch(`http://127.0.0.1:${metrics}/sessions`)).status).toBe(404);
});

it("says which flag chooses another port when another program has the port for metrics", async () => {
  const home = await makeHome();
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void taken.close());
  const { port } = taken.address() as AddressInfo;
  const { code, stderr } = await run(home, ["serve", "--port", "0", "--metrics-port", String(port)]);
  expect(code).toBe(1);
  expect(stderr.trim().split("\n").at(-1)).toBe(
    `otter serve: cannot listen on 127.0.0.1:${port}: another program has port ${port}; choose another with --metrics-port <port>`,
  );
  expect(stderr).not.toContain("EADDRINUSE");
  expect((await run(home, ["serve", "status"])).stdout).toBe("");
});

it("answers probes under any host name, and no other requests", async () => {
  const home = await makeHome();
  const port = await freePort();
  await startServer(home, port);
  const ask = async (path: string) => {
    const asked = request({ port, path, headers: { host: "balancer.example" } }).end();
    const [response] = await once(asked, "response");
    response.resume();
    return response.statusCode;
  };
  for (const path of ["/healthz", "/health", "/ping", "/readyz"]) expect([path, await ask(path)]).not.toContain(403);
  expect(await ask("/sessions")).toBe(403);
});

/** Holds a bound socket as a service manager does, and starts the program on it for each line that it reads. */
const MANAGER = `
import os, socket, subprocess, sys
held = socket.socket()
held.bind(("127.0.0.1", 0))
held.listen(128)
os.dup2(held.fileno(), 3)
os.set_inheritable(3, True)
print(held.getsockname()[1], flush=True)
for _ in sys.stdin:
    child = subprocess.Popen(["sh", "-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec " + sys.argv[1]], close_fds=False)
    print(child.pid, flush=True)
    print(child.wait(), flush=True)
`;

/** Sends a request on a new connection, as a proxy without keep-alive does. */
function askOnce(port: number, method: string, path: string, body?: unknown) {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies freely.
  return new Promise<{ status: number; body: any }>((resolve, reject) => {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const asked = request({ port, method, path, headers, agent: false }, async (answer) => {
      let text = "";
      try {
        for await (const chunk of answer.setEncoding("utf8")) text += chunk;
        resolve({ status: answer.statusCode!, body: JSON.parse(text || "{}") });
      } catch (error) {
        reject(error);
      }
    });
    asked.once("error", reject);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

it("serves a service manager's socket: during 20 restarts no request is refused, cut or rejected", {
  timeout: 300_000,
  tags: ["needs-python3"],
}, async () => {
  const home = await makeHome();
  const command = `${process.execPath} ${OTTER} serve --port 0 --log-level error`;
  const env = { PATH: process.env["PATH"], HOME: home, CHIMERA_HOME: join(home, ".chimera") };
  const manager = spawn("/usr/bin/python3", ["-c", MANAGER, command], {
    cwd: home,
    env,
    stdio: ["pipe", "pipe", "ignore"],
  });
  onTestFinished(() => void manager.kill("SIGKILL"));
  const lines = createInterface({ input: manager.stdout })[Symbol.asyncIterator]();
  const next = async () => Number((await lines.next()).value);
  const port = await next();
  let pid = 0;
  onTestFinished(() => {
    try {
      if (pid > 0) process.kill(pid, "SIGKILL");
    } catch {
      // The server has ended.
    }
  });
  const lost: string[] = [];
  let answered = 0;
  let isOver = false;
  const client = async () => {
    while (!isOver) {
      try {
        const made = await askOnce(port, "POST", "/session", {});
        const path = `/session/${made.body.session_id}`;
        const answers = [
          made,
          await askOnce(port, "GET", path),
          await askOnce(port, "DELETE", path),
          await askOnce(port, "GET", "/sessions"),
        ];
        answered += answers.length;
        for (const { status, body } of answers) if (status >= 300) lost.push(`${status} ${JSON.stringify(body)}`);
      } catch (error) {
        lost.push(String(error));
      }
    }
  };
  const clients = Array.from({ length: 4 }, client);
  for (let round = 0; round < 20; round++) {
    manager.stdin.write("again\n");
    pid = await next();
    const before = answered;
    await expect.poll(() => answered, { timeout: 60_000 }).toBeGreaterThan(before + 20);
    if (round === 19) {
      isOver = true;
      await Promise.all(clients);
    }
    process.kill(pid, "SIGTERM");
    expect(await next()).toBe(0);
  }
  expect(lost).toEqual([]);
});

it("finishes every turn that was accepted before the request to stop, whatever comes meanwhile", {
  timeout: 120_000,
}, async () => {
  const home = await makeHome();
  const port = await freePort();
  const server = await startServer(home, port, "--drain-timeout", "60", "--mode", "auto");
  const accepted: string[] = [];
  const refused = new Set<string>();
  let isOver = false;
  const client = async () => {
    while (!isOver) {
      const prompt = "run `sleep 0.3; echo slept`";
      const { status, body } = await askOnce(port, "POST", "/sessions", { prompt }).catch((error) => ({
        status: 0,
        body: { error: error.code },
      }));
      if (status === 201) accepted.push(body.session_id);
      else refused.add(String(body.error));
      await new Promise((resolve) => setTimeout(resolve, status === 201 ? 0 : 20));
    }
  };
  const clients = Array.from({ length: 4 }, client);
  await expect.poll(() => accepted.length, { timeout: 30_000 }).toBeGreaterThan(12);
  server.child.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
  isOver = true;
  await Promise.all(clients);
  expect(
    [...refused].filter((code) => !["draining", "ECONNREFUSED", "ECONNRESET", "shutting_down"].includes(code)),
  ).toEqual([]);
  const again = await freePort();
  await startServer(home, again);
  for (const id of accepted) {
    const { body } = await askOnce(again, "GET", `/sessions/${id}`);
    const { type, metadata } = body.events.at(-1);
    expect([id, type, metadata.success]).toEqual([id, "agent_result", true]);
  }
});
