import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { freePort, makeHome, startServer } from "./program.js";

const OTTER = fileURLToPath(new URL("../../../apps/otter/dist/cli.js", import.meta.url));

async function statusOf(port: number, token: string): Promise<number> {
  return (await fetch(`http://127.0.0.1:${port}/sessions`, { headers: { authorization: `Bearer ${token}` } })).status;
}

it("reads its token again on a hang-up, goes on in a new log file, and does not end", async () => {
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

it("serves numbers on a port of their own, without a token", async () => {
  const home = await makeHome();
  const [port, metrics] = [await freePort(), await freePort()];
  await startServer(home, port, "--auth-token", "a-token-of-our-own", "--metrics-port", String(metrics));
  await statusOf(port, "a-token-of-our-own");
  const response = await fetch(`http://127.0.0.1:${metrics}/metrics`);
  expect(await response.text()).toMatch(/^otter_build_info\{version="/m);
  expect((await fetch(`http://127.0.0.1:${metrics}/sessions`)).status).toBe(404);
});

it("answers probes whatever name they use, and nothing else", async () => {
  const home = await makeHome();
  const port = await freePort();
  await startServer(home, port);
  const ask = async (path: string) => {
    const { request } = await import("node:http");
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

it("takes a socket that a service manager holds: nobody is refused while it is started again", {
  timeout: 120_000,
  tags: ["needs-python3"],
}, async () => {
  const home = await makeHome();
  const command = `${process.execPath} ${OTTER} serve --port 0`;
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
  for (let round = 0; round < 3; round++) {
    // Asked before the program runs: the connection waits in the socket.
    const asked = fetch(`http://127.0.0.1:${port}/healthz`);
    manager.stdin.write("again\n");
    const pid = await next();
    onTestFinished(() => {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended.
      }
    });
    expect(await (await asked).json()).toEqual({ status: "ok" });
    process.kill(pid, "SIGTERM");
    expect(await next()).toBe(0);
  }
});
