// How a server is started, recorded, listed, stopped and encrypted.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { addressOf, fileScope, type Program, type Surroundings, startProgram } from "./program.js";
import { repositoryRoot, scratchTree } from "./scratch.js";
import { type Server, startServer } from "./server.js";

const atEnd = fileScope();
const portOf = (server: Server) => new URL(server.address).port;
const recordOf = (server: Server) => join(server.program.home, "run", `otter-${portOf(server)}.pid`);

/** Runs a command to its end. */
async function ended(args: string[], surroundings: Surroundings = {}, env: Record<string, string> = {}) {
  const program = startProgram("otter", args, env, surroundings);
  let stdout = "";
  program.child.stdout.on("data", (bytes) => {
    stdout += String(bytes);
  });
  const code = await program.exited;
  return { code, stdout, stderr: program.stderr() };
}

/** A free port; 5173 itself is null when it is in use. */
async function freePort(wanted = 0): Promise<number | null> {
  const probe = createServer();
  const port = await new Promise<number | null>((resolve) => {
    probe.once("error", () => resolve(null));
    probe.listen(wanted, "127.0.0.1", () => resolve((probe.address() as AddressInfo).port));
  });
  probe.close();
  return port;
}

describe("the address", () => {
  test("is 127.0.0.1:5173 when nothing is said", async () => {
    const free = await freePort(5173);
    const program = startProgram("otter", ["serve"]);
    // When the port is in use, the refusal names it.
    if (free) expect(await addressOf(program)).toBe("http://127.0.0.1:5173");
    else expect([await program.exited, program.stderr()]).toEqual([1, expect.stringContaining("127.0.0.1:5173")]);
  });

  test.each(["otter", "ferret"] as const)("of %s acp --http is 127.0.0.1:8000", async (name) => {
    const free = await freePort(8000);
    const program = startProgram(name, ["acp", "--http"]);
    if (free) expect(await addressOf(program)).toBe("http://127.0.0.1:8000");
    else expect([await program.exited, program.stderr()]).toEqual([1, expect.stringContaining("127.0.0.1:8000")]);
  });

  test("of acp --http is the one that was set, where one was", async () => {
    const port = await freePort();
    const program = startProgram("otter", ["acp", "--http"], { OTTER_PORT: String(port) });
    expect(await addressOf(program)).toBe(`http://127.0.0.1:${port}`);
  });

  test("--host chooses the interface", async () => {
    const server = await startServer(["--host", "127.0.0.2"]);
    expect(new URL(server.address).hostname).toBe("127.0.0.2");
    expect((await server.ask("GET /health")).status).toBe(200);
    await expect(fetch(`http://127.0.0.1:${portOf(server)}/health`)).rejects.toThrow();
  });

  test("beyond loopback without a token is refused before anything is bound", async () => {
    const { code, stderr, stdout } = await ended(["serve", "--host", "0.0.0.0", "--port", "0"]);
    expect(code).toBe(2);
    expect(stderr).toContain("token");
    expect(stdout).toBe("");
  });

  test("--acp serves stdio in its place: no port, no record, no token asked for", async () => {
    const port = await freePort();
    const env = { OTTER_SERVER_TOKEN: "a-secret" };
    const program = startProgram("otter", ["serve", "--acp", "--port", String(port)], env);
    program.child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n');
    const [answer] = await once(program.child.stdout, "data");
    expect(JSON.parse(String(answer))).toMatchObject({ id: 1, result: { protocolVersion: "0.1" } });
    await expect(fetch(`http://127.0.0.1:${port}/health`)).rejects.toThrow();
    expect(existsSync(join(program.home, "run"))).toBe(false);
    expect(program.stderr()).not.toMatch(/https?:/);
  });
});

describe("browsers", () => {
  const origin = "http://localhost:3000";
  test("no origin is allowed unless it was named", async () => {
    const server = await startServer();
    const answer = await server.ask("GET /info", { headers: { origin } });
    expect(answer.status).toBe(403);
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
  });

  test("each --cors origin is allowed, and no other", async () => {
    const server = await startServer(["--cors", origin, "--cors", "https://app.example.com"]);
    for (const allowed of [origin, "https://app.example.com"]) {
      const answer = await server.ask("GET /info", { headers: { origin: allowed } });
      expect(answer.status).toBe(200);
      expect(answer.headers.get("access-control-allow-origin")).toBe(allowed);
    }
    expect((await server.ask("GET /info", { headers: { origin: "https://evil.example" } })).status).toBe(403);
  });
});

describe("the record of a running server", () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer([], {}, { atEnd });
  });
  const beside = () => ({ home: server.program.home });

  test("without a token the hash is null", () => {
    expect(JSON.parse(readFileSync(recordOf(server), "utf8"))).toMatchObject({ auth_token_hash: null, scheme: "http" });
  });

  test("is one line of serve status", async () => {
    const { code, stdout } = await ended(["serve", "status"], beside());
    expect(code).toBe(0);
    expect(stdout).toBe(
      `otter port=${portOf(server)} pid=${server.program.child.pid} alive=yes scheme=http auth=no ${recordOf(server)}\n`,
    );
  });

  test("keeps a second server from its port, and names the holder", async () => {
    const before = readFileSync(recordOf(server), "utf8");
    const { code, stderr } = await ended(["serve", "--port", portOf(server)], beside());
    expect(code).toBe(2);
    expect(stderr).toContain(`already running on port ${portOf(server)}, PID ${server.program.child.pid}`);
    expect(readFileSync(recordOf(server), "utf8")).toBe(before);
  });

  test("goes when it is stopped", async () => {
    const other = await startServer();
    await Promise.all([other.run("list files"), other.run("list files")]);
    other.program.child.kill("SIGTERM");
    expect(await other.program.exited).toBe(0);
    expect(existsSync(recordOf(other))).toBe(false);
  });
});

describe("serve stop", () => {
  const stop = (home: string, ...args: string[]) => ended(["serve", "stop", ...args], { home });

  test("stops the only one, by its own shutdown; then there is none, and that is fine", async () => {
    const server = await startServer();
    expect((await stop(server.program.home)).code).toBe(0);
    expect(await server.program.exited).toBe(0);
    expect(server.program.child.signalCode).toBeNull();
    expect((await stop(server.program.home)).code).toBe(0);
  });

  test("asks which of several, takes one by its port, or all", async () => {
    const home = scratchTree({});
    const [a, b, c] = await Promise.all([0, 1, 2].map(() => startServer([], {}, { home })));
    if (!a || !b || !c) throw new Error("three servers");
    const unclear = await stop(home);
    expect(unclear.code).toBe(2);
    expect(unclear.stderr).toMatch(/disambiguate/);
    expect((await stop(home, "--port", portOf(b))).code).toBe(0);
    expect(await b.program.exited).toBe(0);
    expect((await a.ask("GET /health")).status).toBe(200);
    expect((await stop(home, "--all")).code).toBe(0);
    expect(await Promise.all([a.program.exited, c.program.exited])).toEqual([0, 0]);
    expect(readdirSync(join(home, "run")).filter((name) => name.endsWith(".pid"))).toEqual([]);
  });

  test("the record of a crashed one is stale, taken over by the next, and reaped", async () => {
    const crashed = await startServer();
    const { home } = crashed.program;
    crashed.program.child.kill("SIGKILL");
    await crashed.program.exited;
    expect(existsSync(recordOf(crashed))).toBe(true);
    expect((await ended(["serve", "status"], { home })).stdout).toContain("alive=no (stale)");
    const next = startProgram("otter", ["serve", "--port", portOf(crashed)], {}, { home });
    await addressOf(next);
    expect(JSON.parse(readFileSync(recordOf(crashed), "utf8")).pid).toBe(next.child.pid);
    next.child.kill("SIGKILL");
    await next.exited;
    expect((await stop(home)).code).toBe(0);
    expect(existsSync(recordOf(crashed))).toBe(false);
  });

  test("misuse is 2", async () => {
    expect((await stop(scratchTree({}), "--port", "nowhere")).code).toBe(2);
    expect((await stop(scratchTree({}), "--serve-timeout", "-1")).code).toBe(2);
  });

  test("one that runs elsewhere is reported, not signalled, and that is 1, though the others end", async () => {
    const home = scratchTree({});
    const far = await startServer([], {}, { home });
    const run = join(home, "run");
    for (const name of readdirSync(run).filter((each) => /\.claim\.\d+$/.test(each))) {
      const held = JSON.parse(readFileSync(join(run, name), "utf8"));
      writeFileSync(join(run, name), JSON.stringify({ ...held, boot: "another", host: "another" }));
    }
    const near = await startServer([], {}, { home });
    const { code, stdout } = await stop(home, "--all");
    expect(code).toBe(1);
    expect(stdout).toContain(`port=${portOf(far)} pid=${far.program.child.pid} FAILED: it runs on another machine`);
    expect(stdout).toContain(`port=${portOf(near)} pid=${near.program.child.pid} ok: stopped (SIGTERM)`);
    expect(await near.program.exited).toBe(0);
    expect((await far.ask("GET /health")).status).toBe(200);
    expect((await stop(home)).code).toBe(1);
  });

  // Only root can become a user who may not signal the server.
  const asRoot = { tags: ["needs-root"] };
  test("one that may not be signalled is 1", asRoot, async () => {
    const server = await startServer();
    const { home } = server.program;
    // The user that root becomes may not be able to read the repository, nor Node's own directory.
    const copy = scratchTree({});
    cpSync(join(repositoryRoot, "apps/otter/dist"), copy, { recursive: true });
    expect(spawnSync("chmod", ["-R", "a+rX", home, copy]).status).toBe(0);
    const cli = pathToFileURL(join(copy, "cli.js")).href;
    const program = `process.setgid(65534); process.setuid(65534); import("${cli}");`;
    const nobody = spawnSync(process.execPath, ["-e", program, "otter", "serve", "stop"], {
      cwd: copy,
      env: { PATH: process.env["PATH"], HOME: home, CHIMERA_HOME: home },
      encoding: "utf8",
    });
    expect([nobody.status, nobody.stdout]).toEqual([1, expect.stringContaining("FAILED: it may not be signalled")]);
    expect((await server.ask("GET /health")).status).toBe(200);
  });

  test("one that does not end is killed, only after --serve-timeout", async () => {
    const server = await startServer();
    server.program.child.kill("SIGSTOP");
    const started = performance.now();
    const { code } = await stop(server.program.home, "--serve-timeout", "0.5");
    expect(performance.now() - started).toBeGreaterThan(500);
    expect(code).toBe(0);
    await server.program.exited;
    expect(server.program.child.signalCode).toBe("SIGKILL");
  });
});

describe("TLS", { tags: ["needs-openssl"] }, () => {
  let pair: { cert: string; key: string };
  let server: Program;
  let address: string;
  beforeAll(async () => {
    const dir = scratchTree({}, atEnd);
    pair = { cert: join(dir, "server.crt"), key: join(dir, "server.key") };
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    const args = [
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-days",
      "1",
      "-keyout",
      pair.key,
      "-out",
      pair.cert,
    ];
    expect(spawnSync("openssl", [...args, ...subject]).status).toBe(0);
    server = startProgram(
      "otter",
      ["serve", "--port", "0", "--tls-cert", pair.cert, "--tls-key", pair.key],
      {},
      { atEnd },
    );
    address = await addressOf(server);
  });

  test("the banner says https, and HTTPS it is", async () => {
    expect(address).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const status = await new Promise((resolve, reject) => {
      const call = request(`${address}/health`, { ca: readFileSync(pair.cert) }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      call.on("error", reject).end();
    });
    expect(status).toBe(200);
  });

  test("a cleartext client gets a connection error", async () => {
    await expect(fetch(address.replace("https:", "http:"))).rejects.toThrow();
  });

  test.each([["--tls-cert"], ["--tls-key"]])("%s alone exits 2", async (flag) => {
    const { code, stderr } = await ended(["serve", "--port", "0", flag, pair.cert]);
    expect(code).toBe(2);
    expect(stderr).not.toMatch(/https?:\/\//);
    expect(stderr).toMatch(/--tls-cert.*--tls-key|--tls-key.*--tls-cert/s);
  });
});
