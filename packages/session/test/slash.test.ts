import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Message, SessionRecord } from "@chimera/acp-schema/events";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type Agent,
  type CreateOptions,
  createSlashPalette,
  parseSteps,
  SessionError,
  type SessionsDeps,
} from "../src/index.js";
import { makeSessions, recordsOf, runPrompt, speaking, typesOf } from "./fixture.js";

/** Says what it was asked. */
const echo: Agent = (turn, context) => speaking(`asked: ${turn.prompt.text}`)(turn, context);

function workspace(commands: Record<string, string> = {}): string {
  const cwd = mkdtempSync(join(tmpdir(), "session-slash-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(commands)) {
    mkdirSync(join(cwd, ".opencode", "command"), { recursive: true });
    writeFileSync(join(cwd, ".opencode", "command", `${name}.md`), text);
  }
  return cwd;
}

function outputOf(records: readonly SessionRecord[]): string {
  const last = records.at(-1);
  return last?.type === "agent_result" ? last.metadata.output : "";
}

async function say(text: string, commands?: Record<string, string>) {
  const sessions = makeSessions(echo, {
    commands: createSlashPalette({
      home: "/nonexistent",
      commands: [{ name: "tools", description: "List the tools", run: () => "Read" }],
    }),
  });
  const session = await sessions.create({ cwd: workspace(commands) });
  const records = await runPrompt(sessions, session.id, text);
  return { sessions, session, records, output: outputOf(records) };
}

describe("steps", () => {
  test.each([
    ["", 1],
    ["3", 3],
    ["--steps 3", 3],
    ["--steps=12", 12],
    ["-n 2", 2],
    ["  4  ", 4],
    ["0", 1],
    ["-1", 1],
    ["1.5", 1],
    ["many", 1],
    ["3 4", 1],
    ["99999999999999999999", 1],
  ])("%j means %i", (text, steps) => {
    expect(parseSteps(text)).toBe(steps);
  });
});

describe("a built-in command", () => {
  test("changes the session in the name of its sender", async () => {
    const sessions = makeSessions(echo);
    const session = await sessions.create({ cwd: workspace() });
    for (const text of ["hello", "/undo", "/redo", "/model other-model", "/mode read-only", "/clear"]) {
      session.prompt({ text, origin: "bridge" });
      await session.idle();
    }
    const records = await recordsOf(sessions, session.id);
    const changes = ["undo", "redo", "model_changed", "mode_changed", "cleared"];
    const origins = records.filter(({ type }) => changes.includes(type)).map(({ type, origin }) => [type, origin]);
    expect(origins).toEqual(changes.map((type) => [type, "bridge"]));
  });

  test("answers instead of the agent, as a turn without steps and without a title", async () => {
    const { records, session, output } = await say("/help");
    expect(typesOf(records)).toEqual(["user_message", "turn_start", "text_delta", "turn_end", "agent_result"]);
    for (const name of ["undo", "redo", "model", "mode", "clear", "cost", "sessions", "new", "compact", "tools"]) {
      expect(output).toContain(`/${name}`);
    }
    expect(session.title).toBeNull();
    expect(session.conversation.messages(9)).toEqual([]);
  });

  test.each([
    ["/model", "model: test-model"],
    ["/model  fast ", "model: test-model -> fast"],
    ["/mode", "mode: review"],
    ["/mode read-only", "mode: review -> read-only"],
    ["/mode nonsense", 'unknown mode "nonsense"; choose one of auto, review, read-only'],
    ["/cost", "no tokens used yet"],
    ["/undo", "/undo: nothing to undo"],
    ["/redo 3", "/redo: nothing to redo"],
    ["/tools", "Read"],
    ["/sessions", expect.stringContaining("/sessions")],
    ["/new", expect.stringMatching(/^new session otter-/)],
  ])("%s answers", async (text, answer) => {
    expect((await say(text)).output).toEqual(answer);
  });

  test("/sessions cuts no character of a prompt in two", async () => {
    const { sessions, session } = await say(`${"x".repeat(59)}😀`);
    session.setTitle("");
    const listed = outputOf(await runPrompt(sessions, session.id, "/sessions"));
    expect(listed).toMatch(/x{59}$/m);
    // Throws where half a character is left.
    encodeURIComponent(listed);
  });

  test("/clear hides what came before from the model, not from the log", async () => {
    const { sessions, session } = await say("first");
    await runPrompt(sessions, session.id, "/clear");
    await runPrompt(sessions, session.id, "second");
    expect(session.conversation.messages(9)).toEqual([
      { role: "user", text: "second" },
      { role: "assistant", parts: [{ type: "text", text: "asked: second" }] },
    ]);
    expect(typesOf(await recordsOf(sessions, session.id)).filter((type) => type === "user_message")).toHaveLength(3);
  });

  test("/compact asks the agent for a summary, which replaces the conversation until it is undone", async () => {
    const asked: unknown[] = [];
    const agent: Agent = async function* (turn, context) {
      if (!turn.compact) return yield* echo(turn, context);
      asked.push([turn.prompt.text, turn.compact.focus, turn.seen, turn.history.length]);
      yield { type: "compaction", metadata: { summary: "in short", from_turn: 1 } };
      yield { type: "text_delta", metadata: { text: "Summed up." } };
      yield { type: "turn_end", metadata: { stop_reason: "end_turn" } };
      const metadata = { output: "Summed up.", steps: 0, tool_calls_total: 0, cost: 0, success: true, error: null };
      yield { type: "agent_result", metadata };
    };
    const sessions = makeSessions(agent);
    const session = await sessions.create({ cwd: workspace() });
    for (const text of ["first", "second", "/compact the tests", "third"]) await runPrompt(sessions, session.id, text);
    expect(asked).toEqual([["/compact the tests", "the tests", [0, 1], 4]]);
    const said = (history: readonly Message[]) =>
      history.map((each) => (each.role === "assistant" ? "reply" : "text" in each && each.text));
    expect(said(session.conversation.messages(9))).toEqual(["in short", "second", "reply", "third", "reply"]);
    expect(session.conversation.seen(9)).toEqual([1, 3]);
    await session.undo({ steps: 2 });
    expect(said(session.conversation.messages(9))).toEqual(["first", "reply", "second", "reply"]);
    await session.redo({ steps: 1 });
    expect(said(session.conversation.messages(9))).toEqual(["in short", "second", "reply"]);
  });
});

describe("/new", () => {
  const open = async (deps: Partial<SessionsDeps>, asked: Partial<CreateOptions> = {}) => {
    const sessions = makeSessions(echo, deps);
    const { id } = await sessions.create({ cwd: "/", ...asked });
    const next = async (of: string) => {
      const said = outputOf(await runPrompt(sessions, of, "/new"));
      return sessions.find(said.slice("new session ".length));
    };
    return { id, next };
  };

  test("makes a session in the same store as this one", async () => {
    const { id, next } = await open({}, { persist: false });
    expect((await next(id))?.persistent).toBe(false);
  });

  test("gives it the directories of this one, each once, also after many /new in a row", async () => {
    const { id, next } = await open({ directories: ["/lib"] }, { directories: ["/own"] });
    const second = await next(id);
    expect(second?.directories).toEqual(["/lib", "/own"]);
    expect((await next(second!.id))?.directories).toEqual(["/lib", "/own"]);
  });

  test("may use directories that every session has, even if new sessions may not name them", async () => {
    const requirePlace = (directories: readonly string[]) => {
      if (directories.includes("/lib")) throw new SessionError("forbidden_directory", "not there");
    };
    const { id, next } = await open({ directories: ["/lib"], requirePlace });
    expect((await next(id))?.directories).toEqual(["/lib"]);
  });
});

describe("what is not a command", () => {
  test.each(["/unknown", "/usr/bin/env", "/", "//", "/ help", "not /help"])(
    "%j goes to the agent as it is",
    async (text) => {
      expect((await say(text)).output).toBe(`asked: ${text}`);
    },
  );
});

describe("a custom command", () => {
  test("is a prompt for the agent and never replaces a built-in command", async () => {
    const commands = { review: "Review $1 with $ARGUMENTS", help: "own help", Tools: "own tools", compact: "own" };
    expect((await say('/review "a b" c', commands)).output).toBe("asked: Review a b with a b c");
    expect((await say("/help", commands)).output).toContain("/undo");
    expect((await say("/tools", commands)).output).toBe("Read");
    const cwd = workspace(commands);
    const palette = createSlashPalette({
      home: "/nonexistent",
      commands: [{ name: "tools", description: "", run: () => "" }],
    });
    expect((await palette.custom(cwd)).map(({ name }) => name)).toEqual(["review"]);
    expect(await palette.clashes(cwd)).toEqual([
      expect.stringContaining("Tools.md is not used: /Tools is a built-in command"),
      expect.stringContaining("compact.md is not used"),
      expect.stringContaining("help.md is not used"),
    ]);
  });

  test.each(["/help", "/mode auto", "/review x"])("whose text is %s stays text", async (text) => {
    const sessions = makeSessions(echo, { commands: createSlashPalette({ home: "/nonexistent" }) });
    const session = await sessions.create({ cwd: workspace({ review: "Review $1", wolf: text }) });
    const mode = session.mode;
    expect(outputOf(await runPrompt(sessions, session.id, "/wolf"))).toBe(`asked: ${text}`);
    const { durable } = session.prompt({ text, literal: true });
    await durable;
    await session.idle();
    expect(outputOf(await recordsOf(sessions, session.id))).toBe(`asked: ${text}`);
    expect(session.mode).toBe(mode);
  });

  test("that would grow without limit ends its turn with an error, and the session continues", async () => {
    const { sessions, session, records } = await say(`/grow ${"x".repeat(200_000)}`, { grow: "$1".repeat(20) });
    expect(records.at(-1)?.metadata).toMatchObject({ success: false, error: expect.stringContaining("exceed") });
    const next = await runPrompt(sessions, session.id, "hello");
    expect(next.at(-1)?.metadata).toMatchObject({ success: true });
  });
});
