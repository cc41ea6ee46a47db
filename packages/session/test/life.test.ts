import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MODE_FLAGS, MODES, modeOf } from "@chimera/acp-schema/conversation";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createFileStore, createMemoryStore, type ListOptions, type LogWriter } from "@chimera/event-store";
import { describe, expect, onTestFinished, test } from "vitest";
import { DEFAULT_SESSION_TTL, parseMode, sessionSummaries } from "../src/index.js";
import { makeSessions, recordsOf, runPrompt, speaking, typesOf, until, untilCancelled, untilHeard } from "./fixture.js";

function fileStore(root = mkdtempSync(join(tmpdir(), "session-life-"))) {
  const store = createFileStore<SessionEvent, Summary>({ root, summaries: sessionSummaries });
  onTestFinished(async () => {
    await store.close();
    rmSync(root, { recursive: true, force: true });
  });
  return store;
}

/** Admits every new session, and keeps those waiting that come while it is closed. */
function createDoor() {
  let opened = Promise.resolve();
  let open = () => {};
  let waiting = 0;
  return {
    get waiting() {
      return waiting;
    },
    async admit<T>(asked: T) {
      waiting++;
      await opened;
      waiting--;
      return asked;
    },
    close() {
      opened = new Promise((resolve) => {
        open = resolve;
      });
    },
    open: () => open(),
  };
}

test("readers see the text of a turn before its end, even if all of it came at once", async () => {
  const sessions = makeSessions(speaking("Hello"), { store: fileStore() });
  const session = await sessions.create({ cwd: "/" });
  const heard: string[][] = [];
  sessions.logs.follow(session.id, { from: 0 }, (batch) => void heard.push(batch.map(({ type }) => type)));
  await runPrompt(sessions, session.id, "hi");
  expect(heard.map((batch) => batch.at(-1))).toEqual(["text_delta", "step_end", "agent_result"]);
});

test("making a session does not sync the disk; ending an interrupted turn does", async () => {
  const store = createMemoryStore<SessionEvent, Summary>();
  let asked = 0;
  const counted = (writer: LogWriter<SessionEvent>): LogWriter<SessionEvent> => ({
    ...writer,
    get lastSeq() {
      return writer.lastSeq;
    },
    durable(seq) {
      asked++;
      return writer.durable(seq);
    },
  });
  const counting = {
    ...store,
    create: async (id: string, summary: Summary) => counted(await store.create(id, summary)),
    open: async (id: string) => counted(await store.open(id)),
  };
  const before = makeSessions(speaking("hello"), { store: counting });
  const { id } = await before.create({ cwd: "/" });
  expect(asked).toBe(0);
  await runPrompt(before, id, "hi");
  await before.shutdown();
  const writer = await store.open(id);
  writer.append([{ type: "user_message", turn: 1, metadata: { prompt: "msg-1", text: "again" } }]);
  await writer.close();
  asked = 0;
  await makeSessions(speaking("hello"), { store: counting }).load(id);
  // Once for the records that end the turn, once before the summary that is made of them: one sync serves both.
  expect(asked).toBe(2);
});

describe("the time to live", () => {
  const clocked = (ttl?: number | null) => {
    let now = 0;
    const unloaded: string[] = [];
    const sessions = makeSessions(speaking("hello"), {
      monotonic: () => now,
      onUnload: async (id) => void unloaded.push(id),
      ...(ttl !== undefined && { ttl }),
    });
    return { sessions, unloaded, pass: (seconds: number) => (now += seconds * 1000) };
  };

  test("unloads an idle session after an hour; it can be loaded again with its conversation", async () => {
    const { sessions, unloaded, pass } = clocked();
    const { id } = await sessions.create({ cwd: "/" });
    await runPrompt(sessions, id, "hi");
    pass(DEFAULT_SESSION_TTL - 1);
    sessions.evictIdle();
    expect(sessions.find(id)).toBeDefined();
    pass(2);
    sessions.evictIdle();
    expect(sessions.find(id)).toBeUndefined();
    const again = await sessions.load(id);
    expect(again.conversation.messages(9)).toHaveLength(2);
    expect(unloaded).toEqual([id]);
  });

  test("does not change the bounds that a session was made with", async () => {
    const { sessions, pass } = clocked();
    const bounds = { allowedTools: ["Read"], maxSteps: 3 };
    const { id } = await sessions.create({ cwd: "/", settings: bounds });
    for (const seconds of [DEFAULT_SESSION_TTL + 1, 2 * DEFAULT_SESSION_TTL]) {
      pass(seconds);
      sessions.evictIdle();
      expect((await sessions.load(id)).settings).toMatchObject(bounds);
      await runPrompt(sessions, id, "hi");
    }
    expect((await sessions.fork(id)).settings).toMatchObject(bounds);
  });

  test("a listener is called for every loaded session, until it stops", async () => {
    const { sessions } = clocked();
    const loaded: string[] = [];
    const stop = sessions.onLoad(({ id }) => void loaded.push(id));
    const { id } = await sessions.create({ cwd: "/" });
    await runPrompt(sessions, id, "hi");
    await sessions.close(id);
    await sessions.load(id);
    stop();
    await sessions.close(id);
    await sessions.load(id);
    expect(loaded).toEqual([id, id]);
  });

  test("keeps the settings that clients changed in an evicted session; closing it resets them", async () => {
    const { sessions, pass } = clocked();
    const session = await sessions.create({
      cwd: "/",
      settings: { ...MODE_FLAGS.auto, options: { approval: "full" } },
    });
    const { id } = session;
    await session.set({ mode: "read-only" });
    await session.set({ option: "approval", value: "read-only" });
    pass(DEFAULT_SESSION_TTL + 1);
    sessions.evictIdle();
    const again = await sessions.load(id);
    expect(again).not.toBe(session);
    expect([again.mode, again.settings.options]).toEqual(["read-only", { approval: "read-only" }]);
    pass(DEFAULT_SESSION_TTL + 1);
    sessions.evictIdle();
    await sessions.close(id);
    const afresh = await sessions.load(id);
    // As it was made, and no wider than the program was started.
    expect([afresh.mode, afresh.settings.options]).toEqual(["review", { approval: "full" }]);
  });

  test("a session that was torn down before its first prompt stays torn down when its summary is made again", async () => {
    const sessions = makeSessions(speaking("ok"), { store: fileStore() });
    const session = await sessions.create({ cwd: "/" });
    await session.setTitle("named");
    await sessions.tearDown(session.id);
    await expect(sessions.load(session.id)).rejects.toMatchObject({ code: "session_not_found" });
  });

  test("a session that was torn down stays torn down when its summary is lost", { tags: ["needs-files"] }, async () => {
    const root = mkdtempSync(join(tmpdir(), "session-torn-down-"));
    const store = fileStore(root);
    const sessions = makeSessions(speaking("ok"), { store });
    const { id } = await sessions.create({ cwd: "/" });
    await runPrompt(sessions, id, "hi");
    await sessions.tearDown(id);
    await sessions.shutdown();
    await store.close();
    rmSync(join(root, "eventlog", id, "summary.json"));
    const restarted = makeSessions(speaking("ok"), { store: fileStore(root) });
    expect((await restarted.list()).sessions).toEqual([]);
    await expect(restarted.load(id)).rejects.toMatchObject({ code: "session_not_found" });
  });

  test("a session whose lost summary leaves out where it worked can be torn down", {
    tags: ["needs-files"],
  }, async () => {
    const root = mkdtempSync(join(tmpdir(), "session-torn-down-"));
    const store = fileStore(root);
    const sessions = makeSessions(speaking("ok"), { store });
    // More than the header of a segment takes.
    const directories = Array.from({ length: 500 }, (_, number) => `/tmp/${"d".repeat(90)}${number}`);
    const { id } = await sessions.create({ cwd: "/", directories });
    await runPrompt(sessions, id, "hi");
    await sessions.shutdown();
    await store.close();
    rmSync(join(root, "eventlog", id, "summary.json"));
    const restarted = makeSessions(speaking("ok"), { store: fileStore(root) });
    await expect(restarted.load(id)).rejects.toMatchObject({ code: "invalid_setting" });
    await restarted.tearDown(id);
    expect(await restarted.logs.readSummary(id)).toMatchObject({ closed: true });
    expect((await recordsOf(restarted, id)).at(-1)?.type).toBe("torn_down");
  });

  test("a session whose process died during the tear-down stays torn down, as does one of version 0.1", async () => {
    const store = createMemoryStore<SessionEvent, Summary>();
    const sessions = makeSessions(speaking("ok"), { store });
    const [died, older] = [await sessions.create({ cwd: "/" }), await sessions.create({ cwd: "/" })];
    for (const { id } of [died, older]) await runPrompt(sessions, id, "hi");
    await sessions.shutdown();
    const writer = await store.open(died.id);
    writer.append([{ type: "torn_down", turn: null, metadata: {} }]);
    await writer.close();
    await store.writeSummary(older.id, { ...(await store.readSummary(older.id))!, closed: true });
    const restarted = makeSessions(speaking("ok"), { store });
    for (const { id } of [died, older])
      for (const use of [restarted.read, restarted.load, restarted.fork, restarted.tearDown])
        await expect(use(id)).rejects.toMatchObject({ code: "session_not_found" });
    expect((await restarted.list()).sessions).toEqual([]);
  });

  test("loads an evicted session with exactly its settings, and after a restart with no wider ones than the start settings", {
    tags: ["needs-files"],
  }, async () => {
    const root = mkdtempSync(join(tmpdir(), "session-made-"));
    let now = 0;
    const start = (store: ReturnType<typeof fileStore>) =>
      makeSessions(speaking("ok"), { store, monotonic: () => now, defaults: { model: "m", options: { depth: "1" } } });
    const settings = { agent: "plan", ...MODE_FLAGS.auto, maxSteps: 3, options: { effort: "high" } };
    const store = fileStore(root);
    const sessions = start(store);
    const made = await sessions.create({ cwd: "/", settings });
    const all = structuredClone(made.settings);
    expect(all).toMatchObject({ agent: "plan", maxSteps: 3, options: { depth: "1", effort: "high" } });
    now += (DEFAULT_SESSION_TTL + 1) * 1000;
    sessions.evictIdle();
    const back = await sessions.load(made.id);
    expect(back).not.toBe(made);
    expect(back.settings).toEqual(all);
    await runPrompt(sessions, made.id, "hi");
    await sessions.shutdown();
    await store.close();
    // The log says so too, when the summary is lost.
    rmSync(join(root, "eventlog", made.id, "summary.json"));
    const restarted = await start(fileStore(root)).load(made.id);
    expect(restarted.settings).toEqual({ ...all, ...MODE_FLAGS.review });
  });

  test.each([null, 0])("%s keeps sessions loaded", async (ttl) => {
    const { sessions, pass } = clocked(ttl);
    const { id } = await sessions.create({ cwd: "/" });
    pass(1e9);
    await sessions.list();
    expect(sessions.find(id)).toBeDefined();
  });

  test("a session that is used while its eviction waits stays loaded", async () => {
    let now = 0;
    const door = createDoor();
    const sessions = makeSessions(speaking("hello"), { ttl: 10, monotonic: () => now, admit: door.admit });
    const session = await sessions.create({ cwd: "/" });
    await runPrompt(sessions, session.id, "hi");
    door.close();
    const forking = sessions.fork(session.id);
    await until(() => door.waiting === 1);
    now += 11_000;
    sessions.evictIdle();
    session.touch();
    door.open();
    await forking;
    await sessions.fork(session.id);
    expect(sessions.find(session.id)).toBe(session);
  });

  test("a touch restarts it", async () => {
    const { sessions, pass } = clocked(10);
    const session = await sessions.create({ cwd: "/" });
    pass(9);
    session.touch();
    pass(9);
    sessions.evictIdle();
    expect(sessions.find(session.id)).toBe(session);
  });
});

describe("a shutdown", () => {
  test("waits for a session that is being made, and unloads it", async () => {
    const door = createDoor();
    const sessions = makeSessions(speaking("hello"), { admit: door.admit });
    door.close();
    const making = sessions.create({ cwd: "/" });
    await until(() => door.waiting === 1);
    const ended = sessions.shutdown();
    door.open();
    await ended;
    expect(sessions.live()).toEqual([]);
    const session = await making;
    expect(() => session.prompt({ text: "hi" })).toThrow(expect.objectContaining({ code: "session_closed" }));
  });

  test("refuses to make, load or fork a session afterwards", async () => {
    const sessions = makeSessions(speaking("hello"));
    const { id } = await sessions.create({ cwd: "/" });
    await runPrompt(sessions, id, "hi");
    await sessions.shutdown();
    const begun = [
      sessions.create({ cwd: "/" }),
      sessions.load(id),
      sessions.loadVisible(id),
      sessions.fork(id),
      sessions.settle(id),
    ];
    for (const outcome of await Promise.allSettled(begun))
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "draining" } });
    expect(sessions.live()).toEqual([]);
  });
});

describe("a session", () => {
  test("that was closed throws its own error, and can be loaded again", async () => {
    const sessions = makeSessions(speaking("hello"));
    const session = await sessions.create({ cwd: "/" });
    await sessions.close(session.id);
    expect(() => session.prompt({ text: "hi" })).toThrow(expect.objectContaining({ code: "session_closed" }));
    const again = await sessions.load(session.id);
    expect(again).not.toBe(session);
  });

  test("can be loaded while it is being unloaded, with a store that allows one writer", async () => {
    const sessions = makeSessions(speaking("hello"), { store: fileStore() });
    const { id } = await sessions.create({ cwd: "/" });
    await runPrompt(sessions, id, "hi");
    const [, again] = await Promise.all([sessions.close(id), sessions.load(id)]);
    expect(again.state).toBe("idle");
    await sessions.shutdown();
  });

  test("can close during a turn: the turn and waiting prompts are cancelled, and all get their last record", async () => {
    const sessions = makeSessions(untilCancelled("part"));
    const session = await sessions.create({ cwd: "/" });
    session.prompt({ text: "one" });
    session.prompt({ text: "two" });
    await untilHeard(session);
    await sessions.close(session.id);
    const ends = (await recordsOf(sessions, session.id)).filter((record) => record.type === "cancelled");
    expect(ends.map(({ turn, metadata }) => [turn, metadata])).toEqual([
      [0, { output: "part", steps: 0, cost: 0 }],
      [1, { output: "", steps: 0, cost: 0 }],
    ]);
  });

  test("can cancel one waiting turn", async () => {
    const sessions = makeSessions(untilCancelled("part"));
    const session = await sessions.create({ cwd: "/" });
    session.prompt({ text: "one" });
    session.prompt({ text: "two" });
    expect(await session.cancel(1)).toBe(true);
    expect(await session.cancel(1)).toBe(false);
    expect([session.state, session.queued]).toEqual(["running", 0]);
    await untilHeard(session);
    expect(await session.cancel(0)).toBe(true);
    await session.idle();
    expect(await session.cancel(0)).toBe(false);
    expect(session.conversation.turns.map((turn) => turn.result?.cancelled)).toEqual([true, true]);
  });

  test("acknowledges the cancel of a waiting prompt when its last record is durable", async () => {
    const store = createMemoryStore<SessionEvent, Summary>();
    const syncs: (() => void)[] = [];
    const create = async (id: string, summary: Summary): Promise<LogWriter<SessionEvent>> => {
      const writer = await store.create(id, summary);
      const durable = () => new Promise<void>((resolve) => syncs.push(resolve));
      return Object.create(writer, { durable: { value: durable } });
    };
    const sessions = makeSessions(untilCancelled("part"), { store: { ...store, create } });
    const session = await sessions.create({ cwd: "/" });
    session.prompt({ text: "one" });
    session.prompt({ text: "two" });
    let isCancelled = false;
    const cancelling = session.cancel(1).then(() => {
      isCancelled = true;
    });
    const ends = (await recordsOf(sessions, session.id)).filter(({ type }) => type === "cancelled");
    expect(ends.map(({ turn }) => turn)).toEqual([1]);
    expect(isCancelled).toBe(false);
    for (const synced of syncs) synced();
    await cancelling;
  });

  test("is listed after its first prompt, the last touched first, and no longer when deleted", async () => {
    let now = Date.now();
    const clock = () => now++;
    const sessions = makeSessions(speaking("hello"), { clock, store: createMemoryStore({ clock }) });
    const [first, second] = [await sessions.create({ cwd: "/" }), await sessions.create({ cwd: "/" })];
    expect((await sessions.list()).sessions).toEqual([]);
    await runPrompt(sessions, first.id, "a");
    await runPrompt(sessions, second.id, "b");
    expect((await sessions.list()).sessions.map((row) => row.id)).toEqual([second.id, first.id]);
    await sessions.delete(first.id);
    await sessions.delete(first.id);
    expect((await sessions.list()).sessions.map((row) => row.id)).toEqual([second.id]);
    await expect(sessions.load(first.id)).rejects.toMatchObject({ code: "session_not_found", sessionId: first.id });
  });

  test.each(["", "no-such", "../../etc", "otter-20260101T000000-zzzzzzzz", "a".repeat(5000)])(
    "named %j does not exist, and says so",
    async (id) => {
      const sessions = makeSessions(speaking("hello"), { store: fileStore() });
      await expect(sessions.load(id)).rejects.toMatchObject({ code: "session_not_found" });
      await expect(sessions.close(id)).resolves.toBeUndefined();
    },
  );

  test("without persistence leaves nothing in the store, and is gone when it is closed", async () => {
    const store = fileStore();
    const sessions = makeSessions(speaking("hello"), { store });
    const session = await sessions.create({ cwd: "/", persist: false });
    const records = await runPrompt(sessions, session.id, "hi");
    expect(typesOf(records).at(-1)).toBe("agent_result");
    expect(await store.has(session.id)).toBe(false);
    expect((await sessions.list()).sessions).toEqual([]);
    await sessions.close(session.id);
    await expect(sessions.load(session.id)).rejects.toMatchObject({ code: "session_not_found" });
  });

  test("keeps model and agent when it is loaded, and gets mode and flags from the defaults", async () => {
    const sessions = makeSessions(speaking("hello"));
    const session = await sessions.create({ cwd: "/" });
    await session.set({ model: "big" });
    await session.set({ agent: "plan" });
    await session.set({ mode: "auto" });
    await session.setTitle("Mine");
    await sessions.close(session.id);
    const again = await sessions.load(session.id);
    expect([again.settings.model, again.settings.agent, again.mode, again.title]).toEqual([
      "big",
      "plan",
      "review",
      "Mine",
    ]);
  });
});

test("a title is one line of limited length, and is in the stored summary also without a turn", async () => {
  const store = fileStore();
  const sessions = makeSessions(speaking("hello"), { store });
  const session = await sessions.create({ cwd: "/" });
  await session.setTitle(" My\n title ");
  expect(session.title).toBe("My title");
  await expect.poll(async () => (await store.readSummary(session.id))?.title).toBe("My title");
  await expect(session.setTitle("x".repeat(201))).rejects.toEqual(expect.objectContaining({ code: "invalid_setting" }));
});

describe("settings", () => {
  const rows = [
    [false, false, false, "review"],
    [true, false, false, "review"],
    [false, true, false, "review"],
    [true, true, false, "auto"],
    [false, false, true, "read-only"],
    [true, false, true, "read-only"],
    [false, true, true, "read-only"],
    [true, true, true, "read-only"],
  ] as const;

  test.each(rows)("writes %s, execute %s, read-only %s amount to %s", (writes, execute, readOnly, mode) => {
    expect(modeOf({ autoApproveWrites: writes, autoApproveExecute: execute, readOnly })).toBe(mode);
  });

  test.each(MODES)("the mode %s writes all three flags, whatever they were", async (mode) => {
    const sessions = makeSessions(speaking(""));
    const session = await sessions.create({ cwd: "/" });
    for (const option of ["auto_approve_writes", "auto_approve_execute", "read_only"]) {
      await session.set({ option, value: mode !== "auto" });
    }
    await session.set({ mode });
    expect(session.settings).toMatchObject(MODE_FLAGS[mode]);
    expect(session.mode).toBe(mode);
  });

  test("a flag changes only itself, and read-only wins over auto", async () => {
    const sessions = makeSessions(speaking(""));
    const session = await sessions.create({ cwd: "/" });
    await session.set({ mode: "auto" });
    await session.set({ option: "read_only", value: true });
    expect(session.settings).toMatchObject({ autoApproveWrites: true, autoApproveExecute: true, readOnly: true });
    expect(session.mode).toBe("read-only");
    expect(typesOf(await recordsOf(sessions, session.id))).toEqual(["mode_changed", "config_changed"]);
  });

  test("several settings change in one write, or none if one is refused", async () => {
    const sessions = makeSessions(speaking(""));
    const session = await sessions.create({ cwd: "/" });
    const batches: string[][] = [];
    sessions.logs.follow(session.id, { from: 0 }, (batch) => void batches.push(batch.map(({ type }) => type)));
    await session.set([
      { title: " A\n title " },
      { model: "m-2" },
      { approval: "full", warning: "Mind it" },
      { shared: true },
    ]);
    const all = ["title_changed", "model_changed", "approval_changed", "notice", "sharing_changed"];
    const refused = session.set([{ title: "Another" }, { model: "" }]);
    await expect(refused).rejects.toEqual(expect.objectContaining({ code: "invalid_setting" }));
    await session.set([]);
    expect(typesOf(await recordsOf(sessions, session.id))).toEqual(all);
    expect(batches).toEqual([all]);
    expect([session.title, session.isShared, session.settings.model]).toEqual(["A title", true, "m-2"]);
  });

  test.each(["", "Auto", "readonly", "constructor"])("there is no mode %j", (name) => {
    expect(() => parseMode(name)).toThrow(expect.objectContaining({ code: "invalid_setting" }));
  });

  test.each(["  ", "x".repeat(5000)])("a model has a name, and no book for one", async (name) => {
    const sessions = makeSessions(speaking(""));
    const refused = expect.objectContaining({ code: "invalid_setting" });
    await expect(sessions.create({ cwd: "/", settings: { model: name } })).rejects.toEqual(refused);
    const session = await sessions.create({ cwd: "/" });
    await expect(session.set({ model: name })).rejects.toEqual(refused);
  });
});

test("any number of sessions without a prompt hides none that had one", async () => {
  let now = Date.UTC(2026, 0, 1);
  const sessions = makeSessions(speaking("ok"), { clock: () => (now += 1000) });
  const { id } = await sessions.create({ cwd: "/" });
  await runPrompt(sessions, id, "remember me");
  const asking = await sessions.create({ cwd: "/" });
  for (let i = 0; i < 250; i++) await sessions.create({ cwd: "/" });
  const ids = async (options?: ListOptions<Summary>) => (await sessions.list(options)).sessions.map((row) => row.id);
  expect(await ids()).toEqual([id]);
  expect(await ids({ limit: 1 })).toEqual([id]);
  expect(await ids({ cwd: "/elsewhere" })).toEqual([]);
  const answer = (await runPrompt(sessions, asking.id, "/sessions")).find(({ type }) => type === "text_delta");
  expect(answer?.metadata).toEqual({ text: expect.stringContaining(id) });
});

test("a session that was killed in its turn and is torn down stays closed in lists", async () => {
  const store = createMemoryStore<SessionEvent, Summary>();
  const sessions = makeSessions(speaking("hello"), { store });
  const { id } = await sessions.create({ cwd: "/" });
  await sessions.close(id);
  const killed = await store.open(id);
  killed.append([
    { type: "user_message", turn: 0, metadata: { prompt: "msg-0", text: "go" } },
    { type: "turn_start", turn: 0, metadata: { prompt: "msg-0" } },
  ]);
  await killed.close();
  await sessions.tearDown(id);
  for (let pass = 0; pass < 5; pass++) await new Promise(setImmediate);
  expect(await sessions.logs.readSummary(id)).toMatchObject({ closed: true, turns: 1 });
});
