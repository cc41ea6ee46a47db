/** The log decides the state of a session: after an eviction, after a restart, and while several clients act at once. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MODE_FLAGS } from "@chimera/acp-schema/conversation";
import type { AgentEvent, SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createFileStore, createMemoryStore } from "@chimera/event-store";
import { createSnapshotStore } from "@chimera/snapshot-store";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Agent, type CreateOptions, createSlashPalette, type SessionsDeps } from "../src/index.js";
import { makeSessions, recordsOf, runPrompt, speaking, typesOf, until, untilCancelled, untilHeard } from "./fixture.js";

const ORDERS = { approval: ["read-only", "auto", "full"] };
const defaults = { model: "m", options: { approval: "full" } };

function scratch(name: string): string {
  const path = mkdtempSync(join(tmpdir(), name));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Programs that run one after the other on the same log. */
function program(overrides: Partial<SessionsDeps> = {}) {
  const root = scratch("one-log-");
  return async (started: Partial<SessionsDeps> = {}) => {
    const store = createFileStore<SessionEvent, Summary>({ root });
    const sessions = makeSessions(speaking("hello"), { store, defaults, orders: ORDERS, ...overrides, ...started });
    const stop = async () => {
      await sessions.shutdown();
      await store.close();
    };
    onTestFinished(stop);
    return { sessions, store, stop };
  };
}

describe("settings", () => {
  test("are exactly the same after an eviction, whatever the start settings", async () => {
    let now = 0;
    const { sessions } = await program({ ttl: 1, monotonic: () => now, flags: () => MODE_FLAGS.auto })();
    const session = await sessions.create({ cwd: "/" });
    await session.set({ approval: "read-only" });
    await session.set({ mode: "read-only" });
    await session.set({ model: "other" });
    await session.set({ option: "effort", value: "high" });
    const before = session.settings;
    now += 2000;
    sessions.evictIdle();
    const again = await sessions.load(session.id);
    expect(again).not.toBe(session);
    expect(again.settings).toEqual(before);
    expect((await recordsOf(sessions, session.id)).filter(({ type }) => type === "mode_changed")).toHaveLength(1);
  });

  test("after a restart are the narrower of log and start, and clients see the difference", async () => {
    const start = program();
    const first = await start({ flags: () => MODE_FLAGS.auto });
    const wide = await first.sessions.create({ cwd: "/" });
    const narrow = await first.sessions.create({ cwd: "/" });
    await wide.set({ mode: "auto" });
    await narrow.set({ mode: "read-only" });
    await narrow.set({ approval: "auto" });
    await narrow.set({ model: "kept" });
    await first.stop();

    const { sessions } = await start({
      flags: () => MODE_FLAGS.review,
      defaults: { model: "m", options: { approval: "read-only" } },
    });
    expect((await sessions.load(wide.id)).mode).toBe("review");
    const { mode, settings } = await sessions.load(narrow.id);
    expect([mode, settings.options["approval"], settings.model]).toEqual(["read-only", "read-only", "kept"]);
    const records = (await recordsOf(sessions, wide.id)).map(({ type, metadata }) => [type, metadata]);
    expect(records.at(-1)).toEqual(["mode_changed", { old: "auto", new: "review" }]);
  });

  test("include bounds: limits at the start hold for older sessions, and their own limits stay", async () => {
    const start = program();
    const first = await start();
    const { id } = await first.sessions.create({
      cwd: "/",
      settings: { maxSteps: 100, maxCostUsd: 1, allowedTools: ["Read", "Bash"] },
    });
    await runPrompt(first.sessions, id, "hi");
    await first.stop();
    const second = await start({ defaults: { ...defaults, maxSteps: 10, maxCostUsd: 5, allowedTools: ["Read"] } });
    const { maxSteps, maxCostUsd, allowedTools } = (await second.sessions.load(id)).settings;
    expect([maxSteps, maxCostUsd, allowedTools]).toEqual([10, 1, ["Read"]]);
  });

  test("are reset by a close, except model and agent", async () => {
    const { sessions } = await program()();
    const session = await sessions.create({ cwd: "/" });
    await session.set({ mode: "auto" });
    await session.set({ approval: "read-only" });
    await session.set({ agent: "plan" });
    await sessions.close(session.id);
    const { mode, settings } = await sessions.load(session.id);
    expect([mode, settings.options, settings.agent]).toEqual(["review", { approval: "full" }, "plan"]);
  });

  test("of a fork are the current ones of its parent, also if they were changed after the turn", async () => {
    const { sessions } = await program()();
    const parent = await sessions.create({ cwd: "/" });
    await parent.set({ mode: "auto" });
    await runPrompt(sessions, parent.id, "hi");
    await parent.set({ mode: "read-only" });
    await parent.set({ approval: "read-only" });
    const child = await sessions.fork(parent.id);
    expect([child.mode, child.settings.options]).toEqual(["read-only", { approval: "read-only" }]);
  });

  test("of a fork are written with it: a process that dies right then leaves no wider settings", async () => {
    const { store, stop } = await program()();
    const copied: string[][] = [];
    const watched: typeof store = {
      ...store,
      async copy(from, to, options) {
        const writer = await store.copy(from, to, options);
        const types: string[] = [];
        for await (const { type } of store.read(to, { from: options.upTo })) types.push(type);
        copied.push(types);
        return writer;
      },
    };
    const sessions = makeSessions(speaking("hello"), { store: watched, defaults, orders: ORDERS });
    const parent = await sessions.create({ cwd: "/" });
    await runPrompt(sessions, parent.id, "hi");
    await parent.set({ mode: "read-only" });
    await parent.set({ model: "other" });
    const child = await sessions.fork(parent.id);
    expect(copied).toEqual([["forked", "model_changed", "mode_changed"]]);
    expect([child.mode, child.settings.model, child.summary().model]).toEqual(["read-only", "other", "other"]);
    await sessions.shutdown();
    await stop();
  });

  test("have the same flags after an eviction, though the project's flags have changed", async () => {
    let now = 0;
    let flags = MODE_FLAGS["read-only"];
    const { sessions } = await program({ ttl: 1, monotonic: () => now, flags: () => flags })();
    const { id, settings } = await sessions.create({ cwd: "/" });
    flags = MODE_FLAGS.auto;
    now += 2000;
    sessions.evictIdle();
    expect((await sessions.load(id)).settings).toEqual(settings);
  });

  test("are in the log once acknowledged, as are titles and forks", async () => {
    const { sessions } = await program()();
    const session = await sessions.create({ cwd: "/" });
    await runPrompt(sessions, session.id, "hi");
    await Promise.all([session.set({ model: "a" }), session.set({ mode: "auto" }), session.setTitle("t")]);
    const child = await sessions.fork(session.id);
    const types = async (id: string) => typesOf(await recordsOf(sessions, id));
    expect(await types(session.id)).toEqual(expect.arrayContaining(["model_changed", "mode_changed", "title_changed"]));
    expect(await types(child.id)).toContain("forked");
  });
});

test("every way to make a session goes through admit: create, fork and /new", async () => {
  const asked: CreateOptions[] = [];
  const { sessions } = await program({
    async admit(options) {
      asked.push(options);
      return { ...options, persist: false, settings: { ...options.settings, model: "the project's" } };
    },
    commands: createSlashPalette({ home: "/nonexistent" }),
  })();
  const session = await sessions.create({ cwd: "/" });
  await runPrompt(sessions, session.id, "hi");
  await runPrompt(sessions, session.id, "/new");
  await sessions.fork(session.id);
  expect(asked).toHaveLength(3);
  expect(sessions.live().map(({ persistent, settings }) => [persistent, settings.model])).toEqual(
    Array.from({ length: 3 }, () => [false, "the project's"]),
  );
  expect((await sessions.listAll()).sessions).toEqual([]);
});

describe("undo", () => {
  const writing = (cwd: string): Agent =>
    async function* (turn, { workspace }) {
      yield { type: "step_start", metadata: { step: 0 } };
      const path = join(cwd, "a.txt");
      await workspace.willWrite(path);
      writeFileSync(path, turn.prompt.text);
      yield { type: "step_end", metadata: { step: 0 } };
    };
  const withTurns = async (...texts: string[]) => {
    const cwd = scratch("one-log-work-");
    const start = program({
      agent: writing(cwd),
      snapshots: createSnapshotStore({ root: scratch("one-log-snapshots-") }),
    });
    const { sessions, stop } = await start();
    const session = await sessions.create({ cwd });
    for (const text of texts) await runPrompt(sessions, session.id, text);
    return { sessions, session, stop, start, text: () => readFileSync(join(cwd, "a.txt"), "utf8") };
  };

  test("twice at once undoes two turns, in files and in the log", async () => {
    const { session, text } = await withTurns("one", "two", "three");
    const reports = await Promise.all([session.undo(), session.undo()]);
    expect(reports.map(({ turns, remaining }) => [turns, remaining])).toEqual([
      [1, 2],
      [1, 1],
    ]);
    expect([session.conversation.undoable().length, text()]).toEqual([1, "one"]);
  });

  test("makes a prompt wait until the files are restored", async () => {
    const { session, text } = await withTurns("one", "two");
    const undone = session.undo();
    const { status } = session.prompt({ text: "after" });
    await undone;
    await session.idle();
    expect([status, text()]).toEqual(["queued", "after"]);
    expect(session.conversation.turns.map(({ undone: isUndone }) => isUndone)).toEqual([false, true, false]);
  });

  test("that runs when the program ends is finished and in the log", async () => {
    const { sessions, session, stop, start, text } = await withTurns("one", "two");
    const undone = session.undo();
    await stop();
    await undone;
    const again = await start();
    const loaded = await again.sessions.load(session.id);
    expect([text(), loaded.conversation.undoable().length]).toEqual(["one", 1]);
    expect(sessions.find(session.id)).toBeUndefined();
  });

  test("while a turn runs is refused", async () => {
    const sessions = makeSessions(untilCancelled("working"));
    const session = await sessions.create({ cwd: "/" });
    session.prompt({ text: "go" });
    await untilHeard(session);
    await expect(session.undo()).rejects.toMatchObject({ code: "turn_running" });
    session.cancel();
    await session.idle();
  });
});

describe("loading against deleting", () => {
  test.each(["delete", "tearDown"] as const)(
    "%s leaves no session, even when a caller loads it meanwhile",
    async (end) => {
      const { sessions } = await program()();
      for (let round = 0; round < 20; round++) {
        const { id } = await sessions.create({ cwd: "/" });
        await runPrompt(sessions, id, "hi");
        const results = await Promise.allSettled([
          sessions.load(id),
          sessions[end](id),
          sessions.load(id),
          sessions.load(id),
        ]);
        expect(results[1]).toMatchObject({ status: "fulfilled" });
        expect(sessions.find(id)).toBeUndefined();
        await expect(sessions.load(id)).rejects.toMatchObject({ code: "session_not_found" });
      }
    },
  );
});

test("the last record of a cancelled turn has its steps and cost", async () => {
  const sessions = makeSessions(async function* (_turn, { signal }) {
    yield { type: "step_start", metadata: { step: 0 } } satisfies AgentEvent;
    const usage = { input: 1, output: 1, cache: 0, reasoning: 0, total_usd: 0.25, priced: true, used: 2, size: 10 };
    yield { type: "usage", metadata: usage } satisfies AgentEvent;
    yield { type: "text_delta", metadata: { text: "so far" } } satisfies AgentEvent;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  });
  const session = await sessions.create({ cwd: "/" });
  session.prompt({ text: "go" });
  await untilHeard(session);
  session.cancel();
  await session.idle();
  const last = (await recordsOf(sessions, session.id)).at(-1);
  expect(last).toMatchObject({ type: "cancelled", metadata: { output: "so far", steps: 1, cost: 0.25 } });
});

describe("an engine's memory", () => {
  const remembering: Agent = async function* ({ prompt }, { session }) {
    const known = session.recall();
    await session.remember({ seen: prompt.text });
    yield { type: "text_delta", metadata: { text: JSON.stringify(known) } };
  };

  test("lasts over turns and restarts, and no client sees it", async () => {
    const start = program({ agent: remembering });
    const first = await start();
    const { id } = await first.sessions.create({ cwd: "/" });
    await runPrompt(first.sessions, id, "one");
    await first.stop();
    const { sessions } = await start();
    await runPrompt(sessions, id, "two");
    expect((await sessions.load(id)).conversation.turns.map(({ result }) => result?.output)).toEqual([
      "null",
      '{"seen":"one"}',
    ]);
    const shown = [];
    for await (const item of (await sessions.loadVisible(id)).visible) shown.push(item);
    expect(JSON.stringify(shown)).not.toContain('"seen"');
  });

  test("is bounded", async () => {
    const sessions = makeSessions(async function* (_turn, { session }) {
      yield { type: "text_delta", metadata: { text: "trying" } };
      await session.remember("x".repeat(70_000));
    });
    const { id } = await sessions.create({ cwd: "/" });
    const records = await runPrompt(sessions, id, "go");
    expect(records.at(-1)).toMatchObject({ metadata: { success: false, error: expect.stringContaining("65536") } });
  });

  test("an event that comes between turns is recorded outside of them", async () => {
    let emit: (event: AgentEvent) => void = () => {};
    const sessions = makeSessions(
      async function* (_turn, { session }) {
        emit = session.emit;
        yield { type: "text_delta", metadata: { text: "ok" } };
      },
      { store: createMemoryStore<SessionEvent, Summary>() },
    );
    const session = await sessions.create({ cwd: "/" });
    await runPrompt(sessions, session.id, "go");
    emit({ type: "notice", metadata: { level: "info", text: "later" } });
    await until(() => session.conversation.count(new Set(["notice"])) === 1);
    expect((await recordsOf(sessions, session.id)).at(-1)).toMatchObject({ type: "notice", turn: null });
  });
});

test("fail ends the turn with an error, independent of the agent's events", async () => {
  const sessions = makeSessions(async function* (_turn, { fail, signal }) {
    yield { type: "text_delta", metadata: { text: "begun" } };
    setTimeout(() => fail(new Error("the child died")), 5);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  });
  const { id } = await sessions.create({ cwd: "/" });
  const records = await runPrompt(sessions, id, "go");
  expect(records.at(-1)).toMatchObject({ type: "agent_result", metadata: { success: false, error: "the child died" } });
});

test("a session that is not loaded is read once to be loaded and shown", async () => {
  const start = program();
  const first = await start();
  const { id } = await first.sessions.create({ cwd: "/" });
  for (const text of ["one", "two", "three"]) await runPrompt(first.sessions, id, text);
  await first.stop();

  const { sessions, store } = await start();
  const reads: number[] = [];
  const counted = makeSessions(speaking("hello"), {
    store: {
      ...store,
      async *read(session, range) {
        let entries = 0;
        for await (const entry of store.read(session, range)) {
          entries++;
          yield entry;
        }
        reads.push(entries);
      },
    },
  });
  const { visible, head } = await counted.loadVisible(id);
  const shown = [];
  for await (const item of visible) shown.push(item);
  expect(shown.filter(({ type }) => type === "user_message")).toHaveLength(3);
  // The second reading begins where the first one ended.
  expect(reads.reduce((sum, entries) => sum + entries, 0)).toBe(head);
  await counted.shutdown();
  expect(sessions.find(id)).toBeUndefined();
});
