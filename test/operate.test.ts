// What an operator relies on: backups under load, numbers that cost next to nothing, the proxies and the image of `deploy`.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { createFileStore } from "@chimera/event-store";
import { expect, onTestFinished, test } from "vitest";
import { repositoryRoot, scratchTree } from "./scratch.js";
import { freePort, type Server, startServer } from "./server.js";

const deploy = (name: string) => readFileSync(join(repositoryRoot, "deploy", name), "utf8");
const OTTER = join(repositoryRoot, "apps", "otter", "dist", "cli.js");

function otter(home: string, ...args: string[]) {
  return promisify(execFile)(process.execPath, [OTTER, ...args], { env: { ...process.env, CHIMERA_HOME: home } });
}

/** Keeps three clients prompting until the function returned is called. */
function load(server: Server, prompt: string): () => Promise<string[]> {
  const ids: string[] = [];
  let isOver = false;
  const client = async () => {
    while (!isOver) ids.push((await server.run(prompt, { mode: "auto" })).id);
  };
  const clients = [client(), client(), client()];
  return async () => {
    isOver = true;
    await Promise.all(clients);
    return ids;
  };
}

/** Each session of a home as the lines of its records; throws for a record that is lost. */
async function recordsIn(root: string): Promise<Map<string, string[]>> {
  const store = createFileStore<{ type: string }, object>({ root });
  try {
    const sessions = new Map<string, string[]>();
    for (const { id } of (await store.list()).sessions) {
      const lines: string[] = [];
      for await (const entry of store.read(id)) {
        expect([id, entry.type]).not.toContain("lost");
        lines.push(JSON.stringify(entry));
      }
      sessions.set(id, lines);
    }
    return sessions;
  } finally {
    await store.close();
  }
}

/** `npm test` takes a few; 20 take two minutes. */
const BACKUPS = Number(process.env["CHIMERA_BACKUPS"] ?? 3);

test("each of many backups that are taken under load restores whole: what was there before, and nothing that is torn", {
  tags: ["needs-tar"],
  timeout: 300_000,
}, async () => {
  const server = await startServer();
  const backups = scratchTree({});
  const stop = load(server, "write a.txt: words");
  const before: string[] = [];
  for (let at = 0; at < BACKUPS; at++) {
    before.push((await server.run("list files")).id);
    await otter(server.program.home, "backup", join(backups, `${at}.tar.gz`));
  }
  await stop();
  server.program.child.kill("SIGTERM");
  expect(await server.program.exited).toBe(0);
  const live = await recordsIn(server.program.home);
  for (const [at, id] of before.entries()) {
    const root = join(backups, String(at));
    await otter(root, "restore", join(backups, `${at}.tar.gz`));
    const restored = await recordsIn(root);
    expect([at, restored.get(id)]).toEqual([at, live.get(id)]);
    for (const [each, lines] of restored) expect([each, lines]).toEqual([each, live.get(each)?.slice(0, lines.length)]);
  }
  const again = await startServer([], {}, { home: join(backups, String(BACKUPS - 1)), cwd: server.program.cwd });
  const { status } = await again.ask(`POST /sessions/${before.at(-1)}/turns`, { body: { prompt: "list files" } });
  expect(status).toBe(202);
});

/** Seconds of processor time that a process has used. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

test("numbers that are read ten times a second cost less than 1 % of a core", {
  timeout: 60_000,
  tags: ["needs-linux"],
}, async () => {
  const port = await freePort();
  const server = await startServer(["--metrics-port", String(port)]);
  await Promise.all(Array.from({ length: 10 }, () => server.run("write a.txt: words", { mode: "auto" })));
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const scrape = async () => {
    const [answer] = await once(request({ port, path: "/metrics", agent }).end(), "response");
    expect(answer.statusCode).toBe(200);
    await once(answer.resume(), "end");
  };
  for (let i = 0; i < 100; i++) await scrape();
  // One after the other, so that what a busy machine does between them is not counted.
  const before = cpuOf(server.program.child.pid!);
  for (let i = 0; i < 1000; i++) await scrape();
  const ofOne = (cpuOf(server.program.child.pid!) - before) / 1000;
  expect(10 * ofOne).toBeLessThan(0.01);
});

/** Starts a proxy from its configuration, and waits until it answers. */
async function startProxy(command: string, args: string[], port: number): Promise<void> {
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: `${process.env["PATH"]}:/usr/sbin`, HOME: scratchTree({}) },
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
  const exited = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await exited;
  });
  const isUp = () =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      ({ ok }) => ok,
      () => said,
    );
  await expect.poll(isUp, { timeout: 15_000 }).toBe(true);
}

/** Asks by a name, as browsers do that reach a proxy. */
async function askByName(port: number, path: string, headers: Record<string, string> = {}) {
  const asked = request({ port, path, headers: { host: "otter.example.com", ...headers }, agent: false }).end();
  const [answer, socket] = await Promise.race([once(asked, "response"), once(asked, "upgrade")]);
  onTestFinished(() => void (socket ?? answer).destroy());
  return { status: answer.statusCode as number, answer };
}

/** What every proxy must do: answer by its name, deliver events one by one, pass a WebSocket on. */
async function expectProxied(server: Server, port: number): Promise<void> {
  expect((await askByName(port, "/sessions")).status).toBe(200);
  const made = await server.ask("POST /session", { body: {} });
  await server.ask(`PATCH /sessions/${made.body.session_id}`, { body: { mode: "auto" } });
  const { answer, status } = await askByName(port, `/session/${made.body.session_id}/events`);
  expect(status).toBe(200);
  let chunks = 0;
  let text = "";
  answer.setEncoding("utf8").on("data", (chunk: string) => {
    chunks += 1;
    text += chunk;
  });
  await server.ask(`POST /session/${made.body.session_id}/message`, {
    body: { text: "run `for i in 1 2 3; do echo $i; sleep 0.2; done`" },
  });
  await expect.poll(() => text, { timeout: 15_000 }).toMatch(/^event: result/m);
  expect(chunks).toBeGreaterThan(1);
  const upgrade = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
  };
  expect((await askByName(port, "/acp", upgrade)).status).toBe(101);
}

const portOf = ({ address }: Server) => new URL(address).port;

test("nginx serves it with the configuration in `deploy`, and no client can name a person past it", {
  tags: ["needs-nginx"],
}, async () => {
  const secret = join(scratchTree({ secret: "agreed-on" }), "secret");
  chmodSync(secret, 0o600);
  const trust = ["--trust-proxy", "127.0.0.1", "--user-header", "X-Forwarded-Email", "--proxy-secret-file", secret];
  const plain = await startServer(["--allow-host", "otter.example.com"]);
  const trusting = await startServer([
    "--allow-host",
    "otter.example.com",
    "--auth-token",
    "a-token-of-our-own",
    ...trust,
  ]);
  const [port, other] = [await freePort(), await freePort()];
  const site = (listen: number, server: Server) =>
    deploy("nginx.conf")
      .replace("listen 8080;", `listen 127.0.0.1:${listen};`)
      .replace("127.0.0.1:5173", `127.0.0.1:${portOf(server)}`);
  const root = scratchTree({});
  const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((one) => `${one}_temp_path ${root}/${one};`)
    .join("\n");
  const user = process.getuid?.() === 0 ? "user root;" : "";
  writeFileSync(
    join(root, "nginx.conf"),
    `${user} daemon off; pid ${root}/pid; error_log stderr; events {} http { access_log off; ${places}\n${site(port, plain)}\n${site(other, trusting)} }`,
  );
  await startProxy("nginx", ["-p", root, "-c", join(root, "nginx.conf")], port);
  await expectProxied(plain, port);
  const forged = { "x-forwarded-email": "ada@example.com", "x-proxy-secret": "agreed-on" };
  expect((await askByName(other, "/me", forged)).status).toBe(401);
  expect((await trusting.ask("GET /me", { headers: forged })).status).toBe(200);
});

test("Caddy serves it from the file that is in `deploy`", { tags: ["needs-caddy"] }, async () => {
  const server = await startServer(["--allow-host", "otter.example.com"]);
  const port = await freePort();
  // Without a certificate, which takes the real name.
  const file = deploy("Caddyfile")
    .replace(/^otter\.example\.com \{/m, `http://:${port} {`)
    .replace("otter:5173", `127.0.0.1:${portOf(server)}`);
  const root = scratchTree({ Caddyfile: `{\n\tadmin off\n}\n${file}` });
  await startProxy("caddy", ["run", "--adapter", "caddyfile", "--config", join(root, "Caddyfile")], port);
  await expectProxied(server, port);
});
