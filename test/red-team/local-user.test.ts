// Red team, position "local user": another user of this machine and a server without a token. One process plays that user; it gave up
// root's rights before the first attempt.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { fileScope } from "../program.js";
import { repositoryRoot, scratchTree } from "../scratch.js";
import { type Server, startServer } from "../server.js";

const atEnd = fileScope();
const STRANGER = 65534;
const POST = ["Content-Type: application/json"];

/** One connection of the other user: where it comes from, and what it sends. */
interface Attempt {
  readonly what: string;
  readonly line?: string;
  readonly headers?: readonly string[];
  readonly body?: string;
  readonly connect?: { readonly host?: string; readonly localAddress?: string; readonly localPort?: number };
  /** end: no more will come. leave: closes at once, so that the system lists the socket as root's. reset: without a word. */
  readonly leaving?: "end" | "leave" | "reset";
  /** Sent as often, on one connection. */
  readonly times?: number;
}

/** Addresses of this machine that are not loopback: a client may bind them and still reach loopback. */
const outward = Object.values(networkInterfaces())
  .flatMap((rows) => rows ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

const get = (path: string): Attempt => ({ what: `GET ${path}`, line: `GET ${path} HTTP/1.1`, body: "" });
const post = (path: string, body: object): Attempt => ({
  what: `POST ${path}`,
  line: `POST ${path} HTTP/1.1`,
  headers: POST,
  body: JSON.stringify(body),
});
const make = (what: string, rest: Partial<Attempt>): Attempt => ({ ...post("/session", {}), what, ...rest });

const ATTEMPTS: readonly Attempt[] = [
  ...[
    "/info",
    "/sessions",
    "/session",
    "/providers",
    "/tools",
    "/commands",
    "/openapi.json",
    "/runs",
    "/runs/cost",
  ].map(get),
  ...["/agents", "/sessions/OWN", "/sessions/OWN/events", "/sessions/OWN/transcript", "/sessions/OWN/permissions"].map(
    get,
  ),
  ...["/no-such-path", "/health/../sessions", "//sessions", "/sessions/OWN/snapshots"].map(get),
  post("/session", {}),
  post("/session", { working_dir: "/" }),
  post("/sessions", { prompt: "run `touch reached`" }),
  post("/sessions/OWN/turns", { prompt: "run `touch reached`" }),
  post("/sessions/OWN/turns", { prompt: "/approval full" }),
  post("/sessions/OWN/permissions/x", { decision: "allow" }),
  post("/sessions/OWN/undo", {}),
  post("/sessions/OWN/rotate-token", {}),
  post("/sessions/OWN/share", { sink: "file" }),
  post("/tool/approve", { session_id: "OWN", permission_id: "x", approved: true }),
  post("/runs", { agent_name: "build", input: [{ role: "user", parts: [{ content: "x" }] }] }),
  { ...get("/sessions"), what: "DELETE a session", line: "DELETE /sessions/OWN HTTP/1.1" },
  make("from an outward address of this machine", { connect: { ...(outward && { localAddress: outward }) } }),
  make("from another loopback address", { connect: { localAddress: "127.0.0.2" } }),
  make("by a socket of IPv6 that carries IPv4", { connect: { host: "::ffff:127.0.0.1" } }),
  make("from a port that the own user had a moment ago", { connect: { localPort: -1 } }),
  make("and no more to come", { leaving: "end" }),
  make("and gone at once: then the list says root", { leaving: "leave" }),
  make("and gone at once, many times", { leaving: "leave", times: 50 }),
  make("and gone without a word", { leaving: "reset" }),
  make("again and again on one connection", { times: 20 }),
  make("with an invented token", { headers: [...POST, "Authorization: Bearer root"] }),
  make("with an empty token", { headers: [...POST, "Authorization: Bearer "] }),
  make("with a name", { headers: [...POST, "Authorization: Basic cm9vdDpyb290"] }),
  make("said to be forwarded for the own user", {
    headers: [...POST, "X-Forwarded-For: 127.0.0.1", "X-Real-IP: 127.0.0.1", "X-Remote-User: root"],
  }),
  make("by its other name", { headers: [...POST, "Host: localhost"] }),
];

/** Runs as the other user: a line of JSON in, what the server answered out. */
const STRANGE = `
process.setgroups([]); process.setgid(${STRANGER}); process.setuid(${STRANGER});
const net = require("node:net");
require("node:readline").createInterface({ input: process.stdin }).on("line", (text) => {
  const { port, bytes, connect, leaving, times } = JSON.parse(text);
  let answer = "", done = false;
  const finish = () => { if (!done) { done = true; console.log(JSON.stringify(answer)); } };
  const socket = net.connect({ host: "127.0.0.1", port, ...connect }, () => {
    for (let i = 0; i < times; i++) socket.write(bytes);
    if (leaving === "end") socket.end();
    if (leaving === "leave") socket.destroySoon();
    if (leaving === "reset") socket.resetAndDestroy();
    if (leaving === "leave" || leaving === "reset") setTimeout(finish, 150);
  });
  socket.setEncoding("latin1").setTimeout(3000, () => socket.destroy());
  socket.on("data", (data) => {
    answer += data;
    if (answer.split("HTTP/1.1 ").length > times) socket.end();
  });
  socket.on("error", (error) => { answer += error.code; });
  socket.on("close", finish);
});`;

describe("another user of this machine", { tags: ["needs-root", "needs-linux"] }, () => {
  let server: Server;
  let stranger: ChildProcess;
  let own: string;
  let executed = 0;
  const answers: ((answer: string) => void)[] = [];
  const port = () => Number(new URL(server.address).port);
  const tell = (attempt: Attempt): Promise<string> => {
    const { line = "", headers = [], body = "", connect = {}, leaving = null, times = 1 } = attempt;
    const hosts = headers.some((header) => header.startsWith("Host:")) ? [] : [`Host: 127.0.0.1:${port()}`];
    const length = body === "" ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
    const text = [line, ...hosts, ...headers, ...length, "", body].join("\r\n").replaceAll("OWN", own);
    const said = new Promise<string>((resolve) => answers.push(resolve));
    stranger.stdin?.write(`${JSON.stringify({ port: port(), bytes: text, connect, leaving, times })}\n`);
    return said;
  };
  beforeAll(async () => {
    server = await startServer(["--mode", "auto"], {}, { atEnd });
    own = (await server.ask("POST /session", { body: {} })).body.session_id;
    stranger = spawn(process.execPath, ["-e", STRANGE], { stdio: ["pipe", "pipe", "inherit"] });
    atEnd(async () => {
      stranger.stdin?.end();
      if (stranger.exitCode === null) await once(stranger, "close");
    });
    createInterface({ input: stranger.stdout! }).on("line", (line) => answers.shift()?.(JSON.parse(line)));
  });

  test("can see that the server lives", async () => {
    expect(await tell(get("/health"))).toMatch(/^HTTP\/1.1 200 /);
  });

  test.each(ATTEMPTS)("does nothing: $what", async (attempt) => {
    let { connect } = attempt;
    if (connect?.localPort === -1) {
      // The own user's connection ends, and its port is taken at once.
      const { socket } = await ownConnection(port());
      connect = { localPort: socket };
    }
    const answer = await tell({ ...attempt, ...(connect && { connect }) });
    executed += 1;
    expect(answer).not.toMatch(/HTTP\/1.1 2\d\d/);
    if (!attempt.leaving) expect(answer).toMatch(/^HTTP\/1.1 (400|401|429) |^EADDRINUSE$|^EADDRNOTAVAIL$/);
    expect((await server.ask("GET /session")).body.sessions).toEqual([own]);
  });

  test("finds no file of the server", async () => {
    const { home } = server.program;
    const open = readdirSync(home, { recursive: true, encoding: "utf8" }).filter(
      (name) => (statSync(join(home, name)).mode & 0o077) !== 0,
    );
    expect(open).toEqual([]);
  });

  afterAll(() => {
    console.log(`attempts of another user: ${executed} of ${ATTEMPTS.length} executed`);
    expect(executed).toBe(ATTEMPTS.length);
  });
});

test("root is refused by the server of an ordinary user, who is not", {
  tags: ["needs-root", "needs-linux"],
}, async () => {
  // The user that root becomes may not be able to read the repository.
  const copy = scratchTree({}, atEnd);
  cpSync(join(repositoryRoot, "apps/otter/dist"), copy, { recursive: true });
  mkdirSync(join(copy, "home"));
  expect(spawnSync("chown", ["-R", String(STRANGER), copy]).status).toBe(0);
  const cli = pathToFileURL(join(copy, "cli.js")).href;
  const become = `process.setgid(${STRANGER}); process.setuid(${STRANGER});`;
  const child = spawn(process.execPath, ["-e", `${become} import("${cli}");`, "otter", "serve", "--port", "0"], {
    cwd: copy,
    env: { PATH: process.env["PATH"], HOME: copy, CHIMERA_HOME: join(copy, "home") },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  for await (const text of child.stderr.setEncoding("utf8")) {
    said += text;
    if (said.includes("listening on")) break;
  }
  const address = /http:[^ ]+/.exec(said)?.[0];
  expect((await fetch(`${address}/session`)).status).toBe(401);
  const script = `${become} fetch("${address}/session").then((reply) => console.log(reply.status))`;
  expect(spawnSync(process.execPath, ["-e", script], { encoding: "utf8" }).stdout.trim()).toBe("200");
});

async function ownConnection(port: number): Promise<{ socket: number }> {
  const { connect } = await import("node:net");
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  const used = socket.localPort ?? 0;
  socket.resetAndDestroy();
  await once(socket, "close");
  return { socket: used };
}
