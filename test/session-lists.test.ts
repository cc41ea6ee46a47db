// How lists show sessions while their first turn runs, when it was cut short, and when a summary is lost.
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { startEditor } from "./editor.js";
import { connect } from "./peer.js";
import { type Program, startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";
import { type Server, startServer, until } from "./server.js";

type Directories = Pick<Program, "home" | "cwd">;

/** A turn that never ends, and one that asks before it runs a command. */
const SCRIPTS = {
  "stalls.json": { turns: [{ steps: [{ reply: [{ text: "Well. " }, { stall: true }] }] }] },
  "asks.json": { turns: [{ steps: [{ reply: [{ call: "Bash", args: { command: "touch hello" } }] }] }] },
};

async function typed(place: Directories, ...args: string[]): Promise<string> {
  const { child } = startProgram("otter", args, {}, { home: place.home, cwd: place.cwd });
  child.stdin.end();
  return text(child.stdout);
}

const SOON = { interval: 1, timeout: 15_000 };

const typedList = async (place: Directories) => JSON.parse(await typed(place, "sessions", "list", "--json"));

/** Starts a turn with a script, and waits until it has said something of the given kind. */
async function begin(server: Server, script: string, event: string): Promise<string> {
  const scripts = scratchTree(SCRIPTS);
  const { body } = await server.ask("POST /sessions", {
    body: { prompt: "the first prompt", model: `scripted:${scripts}/${script}`, cwd: server.program.cwd },
  });
  await until(server.frames(`/sessions/${body.session_id}/events`), (frame) => frame.event === event);
  return body.session_id;
}

async function killed(server: Server): Promise<void> {
  server.program.child.kill("SIGKILL");
  await server.program.exited;
}

describe("a session whose first turn", () => {
  test("runs, or waits for an answer, is in every list with that state", async () => {
    const server = await startServer();
    const running = await begin(server, "stalls.json", "text_delta");
    const waiting = await begin(server, "asks.json", "permission_request");
    const states = (rows: Record<string, string>[], id: string, field: string) =>
      Object.fromEntries(rows.map((row) => [row[id], row[field]]));
    const both = { [running]: "running", [waiting]: "waiting" };
    expect(states((await server.ask("GET /sessions")).body.sessions, "session_id", "status")).toEqual(both);
    const place = server.program;
    // Another process shows the holder's last written summary.
    await expect.poll(async () => states(await typedList(place), "session_id", "state")).toEqual(both);
    const other = await startServer([], {}, place);
    expect(states((await other.ask("GET /sessions")).body.sessions, "session_id", "status")).toEqual(both);
    const editor = await startEditor(place);
    const { sessions } = (await editor.request("session/list", { cwd: place.cwd })).result;
    expect(
      Object.fromEntries(sessions.map((row: { sessionId: string; _meta: object }) => [row.sessionId, row._meta])),
    ).toEqual({ [running]: { "chimera.dev/state": "running" }, [waiting]: { "chimera.dev/state": "waiting" } });
    const native = connect(startProgram("otter", ["serve", "--acp"], {}, place));
    await native.request("initialize", {});
    const rows = (await native.request("session/list", {})).result.sessions;
    expect(states(rows, "sessionId", "state")).toEqual({ [running]: "running", [waiting]: "running" });
  });

  test("was killed is listed, is continued, and no collection of garbage takes it", async () => {
    const server = await startServer();
    const place = server.program;
    const id = await begin(server, "stalls.json", "text_delta");
    const summary = join(place.home, "eventlog", id, "summary.json");
    await expect.poll(() => JSON.parse(readFileSync(summary, "utf8")).state).toBe("running");
    await killed(server);
    const row = { session_id: id, prompt: "the first prompt", state: "idle", success: false };
    expect(await typedList(place)).toMatchObject([row]);
    // As version 0.1 left it, which wrote a summary at the end of a turn.
    const { state: _state, ...old } = JSON.parse(readFileSync(summary, "utf8"));
    writeFileSync(summary, JSON.stringify({ ...old, v: 1, prompt: "", turns: 0 }));
    const directory = join(place.home, "eventlog", id);
    const longAgo = new Date(Date.now() - 7 * 86_400_000);
    for (const name of readdirSync(directory)) utimesSync(join(directory, name), longAgo, longAgo);
    expect(await typedList(place)).toMatchObject([row]);
    expect(await typed(place, "sessions", "gc")).toMatch(/^0 empty sessions/);
    expect(existsSync(directory)).toBe(true);
    const again = await startServer([], {}, place);
    expect((await again.ask("GET /sessions")).body.sessions).toMatchObject([
      { ...row, success: null, status: "idle", state: "persisted" },
    ]);
    expect((await again.ask("GET /runs")).body.runs).toMatchObject([{ run_id: id, prompt: "the first prompt" }]);
    await killed(again);
    const continued = JSON.parse(
      await typed(place, "-p", "and on", "--continue", "--model", "offline", "--output-format", "json"),
    );
    expect(continued.run_id).toBe(id);
  });
});

test("--continue and undo mean the session that was used last, not the one that was made last", async () => {
  const place = { home: scratchTree({}), cwd: scratchTree({}) };
  const print = async (...args: string[]): Promise<string> =>
    JSON.parse(await typed(place, "--mode", "auto", "--output-format", "json", ...args)).run_id;
  const made = [];
  for (const name of ["a", "b", "c"]) made.push(await print("-p", `write ${name}.txt: ${name}`));
  const [first] = made;
  expect(await print("--resume", first!, "-p", "write d.txt: d")).toBe(first);
  expect(await print("--continue", "-p", "write e.txt: e")).toBe(first);
  await typed(place, "undo", "--steps", "3");
  expect(readdirSync(place.cwd).sort()).toEqual(["b.txt", "c.txt"]);
});

test("sessions gc removes a session that was only set up, and keeps one with a title or a damaged log", async () => {
  const server = await startServer();
  const { home } = server.program;
  const make = async () => (await server.ask("POST /session", { body: {} })).body.session_id as string;
  const [bare, titled, damaged] = [await make(), await make(), await make()];
  for (const id of [titled, damaged]) await server.ask(`POST /sessions/${id}/title`, { body: { title: "Mine" } });
  for (const id of [bare, titled, damaged]) await server.ask(`POST /sessions/${id}/cancel`);
  await killed(server);
  const longAgo = new Date(Date.now() - 7 * 86_400_000);
  for (const id of [bare, titled, damaged]) {
    const directory = join(home, "eventlog", id);
    for (const name of readdirSync(directory)) {
      const path = join(directory, name);
      if (id === damaged && name.endsWith(".ndjson")) {
        const bytes = readFileSync(path);
        bytes.write("#", bytes.length - 10);
        writeFileSync(path, bytes);
      }
      if (id === damaged && name === "summary.json") {
        writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), title: null }));
      }
      utimesSync(path, longAgo, longAgo);
    }
  }
  expect(await typed(server.program, "sessions", "gc")).toMatch(/^1 empty sessions/);
  expect(readdirSync(join(home, "eventlog")).sort()).toEqual([titled, damaged].sort());
});

test("a lost summary costs nothing: the session is listed, shown, loaded and forked from its log", async () => {
  const server = await startServer();
  const place = server.program;
  const { id } = await server.run("list files", { cwd: place.cwd });
  const [before] = await typedList(place);
  await killed(server);
  const summary = join(place.home, "eventlog", id, "summary.json");
  for (const lose of [() => rmSync(summary), () => writeFileSync(summary, "{"), () => writeFileSync(summary, "")]) {
    lose();
    expect(await typedList(place)).toEqual([before]);
    expect(JSON.parse(await typed(place, "sessions", "show", id, "--json")).summary).toMatchObject({
      session_id: id,
      cwd: place.cwd,
      prompt: "list files",
    });
  }
  const again = await startServer([], {}, place);
  expect((await again.ask(`GET /sessions/${id}`)).body.summary).toMatchObject({ cwd: place.cwd, turns: 1 });
  expect((await again.ask(`POST /sessions/${id}/fork`, { body: {} })).status).toBe(201);
});

test("a list keeps the beginning of a prompt, however long it is", async () => {
  const server = await startServer();
  const place = server.program;
  const { id } = await server.run(`begin ${"x".repeat(512 * 1024)}`, { cwd: place.cwd });
  expect(statSync(join(place.home, "eventlog", id, "summary.json")).size).toBeLessThan(4096);
  for (const row of [(await server.ask("GET /sessions")).body.sessions[0], (await typedList(place))[0]]) {
    expect(row.prompt).toBe(`begin ${"x".repeat(194)}`);
  }
});

test("the limit of a list counts live sessions", async () => {
  const server = await startServer();
  for (let i = 0; i < 4; i++) await server.run(`prompt ${i}`);
  const rows = async (query: string) => (await server.ask(`GET /sessions${query}`)).body.sessions;
  expect(await rows("?limit=1")).toHaveLength(1);
  expect((await rows("?limit=1"))[0].prompt).toBe("prompt 3");
  expect(await rows("?limit=1&state=live")).toHaveLength(1);
  expect(await rows("?limit=3&state=persisted")).toHaveLength(3);
  expect(await rows("")).toHaveLength(4);
});

test("an import that is killed leaves the session that it was to replace, and nothing that is listed", async () => {
  const server = await startServer();
  const place = server.program;
  const { id } = await server.run("list files", { cwd: place.cwd });
  await killed(server);
  const before = await typed(place, "sessions", "show", id, "--json");
  const bundle = JSON.parse(await typed(place, "export", id));
  const events = Array.from({ length: 60_000 }, () => bundle.events[0]);
  const file = join(scratchTree({ "bundle.json": { ...bundle, events } }), "bundle.json");
  const eventlog = join(place.home, "eventlog");
  const { child, exited } = startProgram("otter", ["import", file, "--overwrite"], {}, place);
  await expect.poll(() => readdirSync(eventlog).some((name) => name.startsWith(".new-")), SOON).toBe(true);
  child.kill("SIGKILL");
  await exited;
  expect(await typed(place, "sessions", "show", id, "--json")).toBe(before);
  const fresh = startProgram("otter", ["import", file, "otter-20260101T000000-0badcafe"], {}, place);
  await expect.poll(() => readdirSync(eventlog).filter((name) => name.startsWith(".new-")).length, SOON).toBe(2);
  fresh.child.kill("SIGKILL");
  await fresh.exited;
  expect(await typedList(place)).toMatchObject([{ session_id: id }]);
});
