// Red team, position "session token": the attacker has the token of one session and tries to reach anything beyond it.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fileScope } from "../program.js";
import { scratchTree } from "../scratch.js";
import { type Answer, type Server, type SseFrame, startServer, until } from "../server.js";

const MASTER = "master-token-of-the-operator";
const CANARY = "canary-of-another-session";
const atEnd = fileScope();

interface Ground {
  readonly server: Server;
  readonly own: { readonly id: string; readonly token: string };
  readonly other: { readonly id: string; readonly token: string };
}

/** Two sessions: one whose token the attacker has, and one with a canary in its title, its log and its saved output. */
async function layGround(name: "otter" | "ferret", args: string[]): Promise<Ground> {
  const home = scratchTree({}, atEnd);
  const env = { [`${name.toUpperCase()}_SERVER_TOKEN`]: MASTER };
  const server = await startServer(["--model", "offline", ...args], env, { name, home, atEnd });
  const create = async () => {
    const { body } = await server.ask("POST /session", { token: MASTER, body: {} });
    return { id: body.session_id as string, token: body.session_token as string };
  };
  const [own, other] = [await create(), await create()];
  await server.ask(`POST /sessions/${other.id}/title`, { token: MASTER, body: { title: CANARY } });
  await server.ask(`POST /sessions/${other.id}/turns`, { token: MASTER, body: { prompt: `say ${CANARY}` } });
  await server.all(`/sessions/${other.id}/events`, { token: MASTER });
  mkdirSync(join(home, "outputs", other.id), { recursive: true });
  writeFileSync(join(home, "outputs", other.id, "call.txt"), CANARY);
  return { server, own, other };
}

/** A prompt with the session's own token, which approves whatever it asks for. All frames of the turn. */
async function prompt({ server, own: { id, token } }: Ground, text: string): Promise<SseFrame[]> {
  const { body } = await server.ask(`GET /session/${id}`, { token });
  const headers = { "last-event-id": String(body.event_count) };
  const sent = await server.ask(`POST /sessions/${id}/turns`, { token, body: { prompt: text } });
  expect(sent.status).toBe(202);
  const frames: SseFrame[] = [];
  for await (const frame of server.frames(`/sessions/${id}/events`, { token, headers })) {
    frames.push(frame);
    const asked = frame.data?.metadata?.permission_id;
    if (frame.event === "permission_request")
      await server.ask(`POST /sessions/${id}/permissions/${asked}`, { token, body: { decision: "allow" } });
  }
  return frames;
}

/** The text that a turn wrote or read, without the prompt itself. */
const told = (frames: readonly SseFrame[]) =>
  JSON.stringify(frames.filter(({ event }) => ["text_delta", "tool_result", "error", "notice"].includes(event)));

const settings = async ({ server, own }: Ground) => {
  const { body } = await server.ask(`GET /sessions/${own.id}`, { token: MASTER });
  const changes = ["approval_changed", "mode_changed", "model_changed", "config_changed"];
  return JSON.stringify(body.events.filter(({ type }: { type: string }) => changes.includes(type)));
};

/** Commands typed as prompts: nothing of the other session is said, and nothing gets wider. */
const COMMANDS: readonly string[] = [
  "/sessions",
  "/sessions all",
  " /sessions",
  "/new",
  "/new /tmp",
  "/permissions",
  "/approval full",
  "/approval FULL",
  "/approval  full ",
  "/approval\tfull",
  "/approval\nfull",
  "/mode auto",
  "/mode AUTO",
  "/sandbox off",
  "/sandbox workspace-write-network",
  "/model scripted:/etc/passwd",
  "/model scripted:turns.json",
  "/model ollama/evil",
  "/model anthropic/claude",
  "/undo 999999",
  "/diff ../../",
];

/** Routes of the operator and of the other session, with the token of this one. */
const ROUTES: readonly (readonly [route: string, body?: object])[] = [
  ["GET /sessions"],
  ["GET /session"],
  ["POST /session", {}],
  ["POST /sessions", { prompt: "x" }],
  ["GET /info"],
  ["GET /providers"],
  ["GET /tools"],
  ["GET /commands"],
  ["GET /openapi.json"],
  ["GET /runs"],
  ["GET /runs/cost"],
  ["POST /runs", { agent_name: "otter", input: [] }],
  ["GET /runs/OTHER"],
  ["GET /agents"],
  ["GET /sessions/OTHER"],
  ["GET /session/OTHER"],
  ["GET /sessions/OTHER/events"],
  ["GET /sessions/OTHER/transcript"],
  ["GET /sessions/OTHER/snapshots"],
  ["POST /sessions/OTHER/turns", { prompt: "x" }],
  ["POST /sessions/OTHER/undo", {}],
  ["POST /sessions/OTHER/title", { title: "mine" }],
  ["DELETE /sessions/OTHER"],
  ["DELETE /session/OTHER"],
  ["GET /sessions/OWN%2f..%2fOTHER"],
  ["GET /sessions/OWN/../OTHER"],
  ["GET /sessions/./OTHER"],
  ["POST /tool/approve", { session_id: "OWN", permission_id: "x", approved: true }],
  ["POST /commands/x/invoke", { session_id: "OWN" }],
  ["POST /sessions/OWN/fork", {}],
  ["POST /sessions/OWN/share", { sink: "file" }],
  ["POST /sessions/OWN/rotate-token", {}],
  ["POST /session/OWN/rotate-token", {}],
];

/** Prompts whose tool calls the attacker approves. `HOME` is the program's data. */
const CALLS: readonly string[] = [
  "read HOME/outputs/OTHER/call.txt",
  "read HOME/outputs/OWN/../OTHER/call.txt",
  "search canary in HOME/outputs/OTHER",
  "list files in HOME/outputs",
  "read HOME/eventlog/OTHER/summary.json",
  "list files in HOME/eventlog",
  "write HOME/eventlog/OTHER/summary.json: gone",
  "read HOME/run/otter.token",
];

describe.each([
  ["otter", []],
  ["ferret", ["--approval", "auto", "--sandbox", "off", "--mode", "review"]],
] as const)("a token of one session of %s", (name, args) => {
  let ground: Ground;
  let before: string;
  const filled = (text: string) =>
    text
      .replaceAll("HOME", ground.server.program.home)
      .replaceAll("OTHER", ground.other.id)
      .replaceAll("OWN", ground.own.id);
  beforeAll(async () => {
    ground = await layGround(name, [...args]);
    before = await settings(ground);
  });

  test("opens its own session", async () => {
    expect(told(await prompt(ground, "/help"))).toContain("/undo");
    expect(told(await prompt(ground, "/sessions"))).toContain(ground.own.id);
    // What a call reads that it approves itself is there to be seen, so that an attempt below could succeed.
    const plain = scratchTree({ "plain.txt": "in plain sight" }, atEnd);
    expect(told(await prompt(ground, `read ${plain}/plain.txt`))).toContain("in plain sight");
  });

  test.each(COMMANDS)("reaches nothing by %j", async (command) => {
    const said = told(await prompt(ground, command));
    expect(said).not.toContain(CANARY);
    expect(said).not.toContain(ground.other.id);
    expect(await settings(ground)).toBe(before);
    expect((await ground.server.ask("GET /session", { token: MASTER })).body.sessions).toHaveLength(2);
  });

  test.each(ROUTES.map(([route, body]) => ({ route, body })))("is refused by $route", async ({ route, body }) => {
    const path = filled(route);
    const answer: Answer = await ground.server.ask(path, {
      token: ground.own.token,
      ...(body && { body: JSON.parse(filled(JSON.stringify(body))) }),
    });
    expect([401, 403]).toContain(answer.status);
    expect(JSON.stringify(answer.body)).not.toContain(CANARY);
  });

  test.each(CALLS)("reads and writes nothing of the program by a call that it approves itself: %s", async (text) => {
    const said = told(await prompt(ground, filled(text)));
    expect(said).not.toContain(CANARY);
    expect(said).not.toContain(ground.own.token);
  });

  test("is remembered by no other session", async () => {
    const { server, own } = ground;
    await server.ask(`POST /sessions/${own.id}/turns`, { token: own.token, body: { prompt: "run `touch made`" } });
    const isAboutIt = ({ event, data }: SseFrame) =>
      event === "permission_request" && data.metadata.args.command === "touch made";
    const frames = server.frames(`/sessions/${own.id}/events`, { token: own.token });
    const asked = (await until(frames, isAboutIt)).at(-1)!;
    const path = `POST /sessions/${own.id}/permissions/${asked.data.metadata.permission_id}`;
    for (const decision of ["always", "never"])
      expect((await server.ask(path, { token: own.token, body: { decision } })).status).toBe(403);
    expect((await server.ask(path, { token: own.token, body: { decision: "deny" } })).status).toBe(200);
    const remembered = join(server.program.home, "remembered");
    const files = (() => {
      try {
        return readdirSync(remembered);
      } catch {
        return [];
      }
    })();
    expect(files.map((file) => readFileSync(join(remembered, file), "utf8")).join("")).toBe("");
  });

  test("answers only what was shown", async () => {
    const { server, own } = ground;
    await server.ask(`POST /sessions/${own.id}/turns`, { token: own.token, body: { prompt: "run `touch unseen`" } });
    const frames = server.frames(`/sessions/${own.id}/events`, { token: own.token });
    const isAboutIt = ({ event, data }: SseFrame) =>
      event === "permission_request" && data.metadata.args.command === "touch unseen";
    const { metadata } = (await until(frames, isAboutIt)).at(-1)!.data;
    const path = `POST /sessions/${own.id}/permissions/${metadata.permission_id}`;
    for (const shown of [
      "",
      "0".repeat(64),
      metadata.shown.toUpperCase(),
      `${metadata.shown} `,
      metadata.permission_id,
    ])
      expect((await server.ask(path, { token: own.token, body: { decision: "allow", shown } })).status, shown).toBe(
        409,
      );
    const denied = { decision: "deny", shown: metadata.shown };
    expect((await server.ask(path, { token: own.token, body: denied })).status).toBe(200);
  });

  test("may narrow its session, and not go back", async () => {
    await prompt(ground, "/mode read-only");
    const narrowed = await settings(ground);
    expect(narrowed).toContain("read-only");
    await prompt(ground, "/mode review");
    expect(await settings(ground)).toBe(narrowed);
  });

  afterAll(async () => {
    const { body } = await ground.server.ask(`GET /sessions/${ground.other.id}`, { token: MASTER });
    expect(body.summary.title).toBe(CANARY);
    console.log(`attempts with a session's token, ${name}: ${COMMANDS.length + ROUTES.length + CALLS.length + 1}`);
  });
});
