import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePort, makeHome, run, start, startServer } from "./program.js";

const pidfileOf = (home: string, port: number) => join(home, ".chimera", "run", `otter-${port}.pid`);

describe("serve status and stop", () => {
  it("lists a running server, stops it and leaves no record", async () => {
    const home = await makeHome();
    const port = await freePort();
    const server = await startServer(home, port, "--auth-token", "a-token-of-our-own");
    const path = pidfileOf(home, port);

    const listed = await run(home, ["serve", "status"]);
    expect(listed.stdout).toBe(`otter port=${port} pid=${server.child.pid} alive=yes scheme=http auth=yes ${path}\n`);
    const text = readFileSync(path, "utf8");
    expect(JSON.parse(text)).toEqual({
      pid: server.child.pid,
      host: "127.0.0.1",
      port,
      prefix: "otter",
      auth_token_hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      started_at: expect.closeTo(Date.now() / 1000, -2),
      scheme: "http",
    });
    expect(text).not.toContain("a-token-of-our-own");
    expect(statSync(path).mode & 0o777).toBe(0o600);

    const stopped = await run(home, ["serve", "stop"]);
    expect(stopped).toMatchObject({
      code: 0,
      stdout: `otter port=${port} pid=${server.child.pid} ok: stopped (SIGTERM)\n`,
    });
    expect((await server.ended).code).toBe(0);
    expect(existsSync(path)).toBe(false);
    expect(server.said().stderr).not.toContain("a-token-of-our-own");
  });

  it("reports a killed server as stale, and the next one replaces its record", async () => {
    const home = await makeHome();
    const port = await freePort();
    const first = await startServer(home, port);
    first.child.kill("SIGKILL");
    await first.ended;
    const stale = await run(home, ["serve", "status"]);
    expect(stale.stdout).toContain(`pid=${first.child.pid} alive=no (stale) scheme=http auth=no`);

    const second = await startServer(home, port);
    const alive = await run(home, ["serve", "status"]);
    expect(alive.stdout).toContain(`pid=${second.child.pid} alive=yes`);
    expect(alive.stdout.trim().split("\n")).toHaveLength(1);
    const stopped = await run(home, ["serve", "stop", "--json", "--port", String(port)]);
    expect(JSON.parse(stopped.stdout)).toEqual({
      servers: [
        {
          pid: second.child.pid,
          port,
          prefix: "otter",
          signaled: "sigterm",
          stopped: true,
          pidfile_removed: true,
          error: null,
        },
      ],
    });
    expect(JSON.parse((await run(home, ["serve", "status", "--json"])).stdout)).toEqual({ servers: [] });
  });

  it("removes a stale record without signalling any process", async () => {
    const home = await makeHome();
    const port = await freePort();
    const server = await startServer(home, port);
    server.child.kill("SIGKILL");
    await server.ended;
    const stopped = await run(home, ["serve", "stop"]);
    expect(stopped).toMatchObject({ code: 0, stdout: expect.stringContaining("ok: already stopped") });
    expect(existsSync(pidfileOf(home, port))).toBe(false);
  });

  it("asks for a port when several servers run, and --all stops them together", async () => {
    const home = await makeHome();
    const ports = [await freePort(), await freePort()];
    const servers = await Promise.all(ports.map((port) => startServer(home, port)));
    const unclear = await run(home, ["serve", "stop"]);
    expect(unclear.code).toBe(2);
    expect(unclear.stderr).toMatch(/multiple otter servers running .*to disambiguate\n$/);
    const one = await run(home, ["serve", "stop", "--port", String(ports[0])]);
    expect(one.stdout.trim().split("\n")).toEqual([expect.stringContaining(`port=${ports[0]}`)]);
    expect((await run(home, ["serve", "stop", "--all"])).code).toBe(0);
    expect((await Promise.all(servers.map(({ ended }) => ended))).map(({ code }) => code)).toEqual([0, 0]);
  });

  it("kills a server that does not end after SIGTERM", async () => {
    const home = await makeHome();
    const port = await freePort();
    const server = await startServer(home, port);
    server.child.kill("SIGSTOP");
    const stopped = await run(home, ["serve", "stop", "--serve-timeout", "0.5"]);
    expect(stopped).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("ok: stopped (SIGTERM, then SIGKILL)"),
    });
    expect((await server.ended).signal).toBe("SIGKILL");
    expect(existsSync(pidfileOf(home, port))).toBe(false);
  });

  it("has nothing to do without servers", async () => {
    const home = await makeHome();
    for (const args of [["status"], ["stop"], ["stop", "--all"], ["stop", "--port", "6000"]]) {
      expect(await run(home, ["serve", ...args])).toMatchObject({ code: 0, stdout: "" });
    }
  });
});

describe("a home that cannot be used", () => {
  it("is reported in one line by status, and does not stop a server from serving", async () => {
    const home = await makeHome();
    mkdirSync(join(home, ".chimera"));
    writeFileSync(join(home, ".chimera", "run"), "");
    const { code, stderr } = await run(home, ["serve", "status"]);
    expect(code).toBe(1);
    expect(stderr.trim().split("\n")).toEqual([expect.stringMatching(/^otter serve: ENOTDIR/)]);
    const server = await startServer(home, await freePort());
    expect(server.said().stderr).toContain("no pidfile");
  });
});

describe("a port in use", () => {
  it("by another server of this program is reported with its pid, exit 2", async () => {
    const home = await makeHome();
    const port = await freePort();
    const server = await startServer(home, port);
    const second = await run(home, ["serve", "--port", String(port)]);
    expect(second.code).toBe(2);
    expect(second.stderr).toBe(
      `ERROR: otter serve already running on port ${port}, PID ${server.child.pid}. Stop it first or use a different --port.\n`,
    );
    expect((await run(home, ["serve", "status"])).stdout).toContain(`pid=${server.child.pid} alive=yes`);
  });

  it("by another program, exit 1", async () => {
    const home = await makeHome();
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => new Promise<void>((resolve) => other.close(() => resolve())));
    const { port } = other.address() as { port: number };
    const refused = await run(home, ["serve", "--port", String(port)]);
    expect(refused.code).toBe(1);
    expect(refused.stderr.trim().split("\n")).toEqual([expect.stringContaining(`another program has port ${port}`)]);
    expect(existsSync(pidfileOf(home, port))).toBe(false);
  });
});

describe("bad flags", () => {
  it.each([
    [["--prot", "1"], "did you mean --port?"],
    [["--port", "65536"], "--port takes a whole number from 0 to 65535"],
    [["--allowed-tools", "Read,Teleport"], "Teleport"],
    [["--cwd", "/no/such/place"], "--cwd: /no/such/place is not a directory"],
    [["--cwd", "/dev/null/place"], "--cwd: /dev/null/place is not a directory"],
    [["--log-file", "/dev/null/x"], "--log-file"],
    [["--all"], "otter serve: --all belongs to serve stop"],
    [["--json"], "--json belongs to serve status and serve stop"],
    [["restart"], "unknown action"],
    [["stop", "--port", "1", "--all"], "exclude each other"],
    [["stop", "--serve-timeout", "never"], "--serve-timeout takes a number"],
  ])("%j are one line and exit 2", async (args, expected) => {
    const home = await makeHome();
    const { code, stdout, stderr } = await run(home, ["serve", ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr.trim().split("\n")).toEqual([expect.stringContaining(expected)]);
  });
});

it("names the flags that have no effect without --http", async () => {
  const home = await makeHome();
  const { code, stdout, stderr } = await run(home, ["acp", "--port", "5173", "--cors", "https://app.example"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  expect(stderr).toBe("[otter] no effect without --http, as nothing listens then: --port, --cors\n");
});

describe("secrets", () => {
  it("are read only from a file that no other user can read", async () => {
    const home = await makeHome();
    const path = join(home, "token");
    writeFileSync(path, "from-the-file\n", { mode: 0o644 });
    const refused = await run(home, ["serve", "--port", "0", "--auth-token-file", path]);
    expect(refused).toMatchObject({
      code: 2,
      stderr: `otter serve: --auth-token-file: others can read ${path}: chmod 600 it first\n`,
    });

    chmodSync(path, 0o600);
    const port = await freePort();
    writeFileSync(join(home, "config.json"), JSON.stringify({ auth_token_file: "token", log_level: "debug" }));
    const server = start(home, ["serve", "--port", String(port)], { env: { CHIMERA_HOME: home } });
    await server.until("listening on");
    const statuses = ["wrong", "from-the-file"].map(async (token) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await fetch(`http://127.0.0.1:${port}/sessions?token=${token}`, { headers })).status;
    });
    expect(await Promise.all(statuses)).toEqual([401, 200]);
    await server.until('"method":"GET","path":"/sessions","status":200');
    // Find it by the id that the caller got.
    expect(server.said().stderr).toMatch(/"message":"request","request_id":"[0-9a-f]{8}","method":"GET"/);
    expect(server.said().stderr).not.toContain("from-the-file");
  });
});

describe("an uncaught error", () => {
  it("is logged; the server closes and exits 70", async () => {
    const home = await makeHome();
    const port = await freePort();
    const fault = `import { existsSync } from "node:fs";
      const timer = setInterval(() => {
        if (!existsSync(${JSON.stringify(pidfileOf(home, port))})) return;
        clearInterval(timer);
        Promise.reject(new Error("nobody caught this"));
      }, 50);`;
    const server = start(home, ["serve", "--port", String(port)], {
      env: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(fault)}` },
    });
    expect((await server.ended).code).toBe(70);
    expect(server.said().stderr).toMatch(/"level":"error".*nobody caught this/);
    expect(existsSync(pidfileOf(home, port))).toBe(false);
  });
});

describe("signals", () => {
  it("a second one ends the process at once", async () => {
    const home = await makeHome();
    const port = await freePort();
    const server = await startServer(home, port);
    // The graceful end waits for half a request.
    const socket = connect(port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    await new Promise<void>((resolve) => socket.write("POST /session HTTP/1.1\r\nContent-Le", () => resolve()));
    await fetch(`http://127.0.0.1:${port}/healthz`);
    server.child.kill("SIGTERM");
    await server.until("stopping");
    server.child.kill("SIGTERM");
    expect((await server.ended).code).toBe(143);
  });

  it("a closed stderr does not end the server", async () => {
    const home = await makeHome();
    const port = await freePort();
    const server = start(home, ["serve", "--port", String(port)]);
    await server.until("listening on");
    server.child.stderr?.destroy();
    const { status } = await fetch(`http://127.0.0.1:${port}/healthz`);
    expect(status).toBe(200);
    server.child.kill("SIGTERM");
    expect((await server.ended).code).toBe(0);
  });
});

it("a session opens although the snapshot directory cannot be made, and the next turn tries again", async () => {
  const home = await makeHome();
  const disk = join(home, "disk");
  writeFileSync(disk, "");
  const agent = start(home, ["acp", "--model", "offline"], { env: { CHIMERA_SNAPSHOT_ROOT: join(disk, "snapshots") } });
  const answer = async (id: number, method: string, params: object): Promise<object> => {
    agent.child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    const find = () =>
      agent
        .said()
        .stdout.split("\n")
        .flatMap((line) => (line.includes(`"id":${id},`) ? [JSON.parse(line)] : []))[0];
    await expect.poll(find, { timeout: 10_000 }).toBeDefined();
    return find();
  };
  await answer(1, "initialize", { protocolVersion: 1, clientCapabilities: { session: { notices: {} } } });
  const session = { cwd: home, mcpServers: [] };
  const opened = (await answer(2, "session/new", session)) as { result: { sessionId: string } };
  const prompt = { sessionId: opened.result.sessionId, prompt: [{ type: "text", text: "list files" }] };
  expect(await answer(3, "session/prompt", prompt)).toHaveProperty("result.stopReason", "end_turn");
  const warned = () => agent.said().stdout.split("cannot be undone").length - 1;
  const before = warned();
  rmSync(disk);
  mkdirSync(disk);
  expect(await answer(4, "session/prompt", prompt)).toHaveProperty("result.stopReason", "end_turn");
  expect([before > 0, warned()]).toEqual([true, before]);
  agent.child.stdin?.end();
  expect((await agent.ended).code).toBe(0);
});
