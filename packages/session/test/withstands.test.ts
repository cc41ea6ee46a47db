/** Sessions under bad conditions: logs that fail at a bad moment, damaged summaries, lost claims, clients that stay for long. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createFileStore, createMemoryStore, type EventStore, type LogWriter, StoreError } from "@chimera/event-store";
import { createSnapshotStore, type RecoveryReport } from "@chimera/snapshot-store";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Agent } from "../src/index.js";
import { sessionSummaries } from "../src/summary.js";
import { makeSessions, recordsOf, runPrompt, speaking, until, untilHeard } from "./fixture.js";

type Store = EventStore<SessionEvent, Summary>;

function scratch(): string {
  const path = mkdtempSync(join(tmpdir(), "session-withstands-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A memory store whose writers the test can break. */
function breakable(store: Store = createMemoryStore()) {
  const lost = new AbortController();
  let error: StoreError | null = null;
  const check = () => {
    if (error) throw error;
  };
  const wrap = (writer: LogWriter<SessionEvent>): LogWriter<SessionEvent> => ({
    ...writer,
    lost: lost.signal,
    get lastSeq() {
      return writer.lastSeq;
    },
    append(events) {
      check();
      return writer.append(events);
    },
    async written(seq) {
      check();
      await writer.written(seq);
    },
    async durable(seq) {
      check();
      await writer.durable(seq);
    },
  });
  const wrapped: Store = {
    ...store,
    create: async (id, summary) => wrap(await store.create(id, summary)),
    open: async (id) => wrap(await store.open(id)),
  };
  return {
    store: wrapped,
    fill: (isFull: boolean) => {
      error = isFull ? new StoreError("storage_full", "no space left") : null;
    },
    takeOver: () => {
      error = new StoreError("fenced", "taken over");
      lost.abort(error);
    },
  };
}

/** Changes one file in a call that has no result yet when the given work is done. */
function changing(path: string, then: () => void = () => {}): Agent {
  return async function* (_turn, { workspace }) {
    yield { type: "step_start", metadata: { step: 0 } };
    const call = { call_id: "c1", tool: "Write", args: {}, kind: "edit", title: "", locations: [] } as const;
    yield { type: "tool_call", metadata: { ...call, locations: [] } };
    await workspace.willWrite(path);
    writeFileSync(path, "changed");
    then();
    yield { type: "step_end", metadata: { step: 0 } };
  };
}

test("the changes of a turn can be undone even if the log failed during a call", async () => {
  const cwd = scratch();
  const path = join(cwd, "a.txt");
  writeFileSync(path, "before");
  const { store, fill } = breakable();
  const snapshots = createSnapshotStore({ root: scratch() });
  const sessions = makeSessions(
    changing(path, () => fill(true)),
    { store, snapshots },
  );
  const session = await sessions.create({ cwd });
  session.prompt({ text: "go" });
  await session.idle();
  fill(false);
  await vi.waitFor(() => session.notify("info", "there is room again"));
  expect(await session.undo()).toMatchObject({ turns: 1 });
  expect(readFileSync(path, "utf8")).toBe("before");
});

test("an undo in the log stands, even if the log could not be read when the session was loaded", async () => {
  const [cwd, root] = [scratch(), scratch()];
  const path = join(cwd, "a.txt");
  writeFileSync(path, "before");
  const store: Store = createMemoryStore();
  const kept = createSnapshotStore({ root });
  // As if the process ended between the record and the end of the journal.
  const session = (...args: Parameters<typeof kept.session>) => {
    const own = kept.session(...args);
    const restore: typeof own.restore = async (...given) => ({
      ...(await own.restore(...given)),
      keep: async () => {},
    });
    return { ...own, restore };
  };
  const first = makeSessions(changing(path), { store, snapshots: { ...kept, session } });
  const { id, ...one } = await first.create({ cwd });
  one.prompt({ text: "go" });
  await one.idle();
  await one.undo();
  await first.shutdown();

  let isBroken = true;
  const read: Store["read"] = (sessionId, range) => {
    if (range?.from === undefined || !isBroken) return store.read(sessionId, range);
    isBroken = false;
    throw new StoreError("io", "cannot be read now");
  };
  const reports: RecoveryReport[] = [];
  const again = makeSessions(speaking("hello"), {
    store: { ...store, read },
    snapshots: createSnapshotStore({ root }),
    onRecovered: (report) => void reports.push(report),
  });
  const loaded = await again.load(id);
  expect(reports).toMatchObject([{ result: "failed" }]);
  loaded.prompt({ text: "next" });
  await loaded.idle();
  expect(readFileSync(path, "utf8")).toBe("before");
});

test("prompts that wait when a turn fails during a close end once", async () => {
  const sessions = makeSessions(async function* (_turn, { signal }) {
    yield { type: "text_delta", metadata: { text: "x" } };
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    const result = { output: "", tool_calls_total: 0, cost: 0, success: true, error: null };
    // Nothing that JSON knows: the turn cannot be carried to its end.
    yield { type: "agent_result", metadata: { ...result, steps: 1n as unknown as number } };
  });
  const session = await sessions.create({ cwd: "/" });
  session.prompt({ text: "one" });
  await untilHeard(session);
  session.prompt({ text: "two" });
  await sessions.close(session.id);
  const ends = (await recordsOf(sessions, session.id)).filter(({ type }) => /^(cancelled|agent_result)$/.test(type));
  expect(ends.map(({ turn }) => turn).sort()).toEqual([0, 1]);
});

test("closing a fork does not reset it to wider settings than its parent's", async () => {
  const sessions = makeSessions(speaking("hello"));
  const parent = await sessions.create({ cwd: "/", settings: { readOnly: true, allowedTools: ["Read"] } });
  parent.prompt({ text: "go" });
  await parent.idle();
  const { id } = await sessions.fork(parent.id);
  await sessions.close(id);
  expect((await sessions.load(id)).settings).toMatchObject({ readOnly: true, allowedTools: ["Read"] });
});

test("a question of an agent that was cancelled is denied at once, and nobody sees it", async () => {
  const answers: unknown[] = [];
  const sessions = makeSessions(async function* (_turn, { ask, signal }) {
    yield { type: "text_delta", metadata: { text: "x" } };
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    answers.push(await ask({ call_id: "c1", tool: "Bash", args: {}, risk: "high" }));
  });
  const session = await sessions.create({ cwd: "/" });
  sessions.attach(session.id, { approves: true });
  session.prompt({ text: "go" });
  await untilHeard(session);
  session.cancel();
  await session.idle();
  expect(answers).toEqual([{ decision: "deny", by: "cancel" }]);
  expect((await recordsOf(sessions, session.id)).map(({ type }) => type)).not.toContain("permission_request");
});

test("a stored summary with an invalid time is loaded, and the next turn ends as usual", async () => {
  const store: Store = createMemoryStore();
  const errors: unknown[] = [];
  const sessions = makeSessions(speaking("hello"), { store, onError: (error) => void errors.push(error) });
  const { id, ...session } = await sessions.create({ cwd: "/" });
  session.prompt({ text: "one" });
  await session.idle();
  await sessions.close(id);
  await store.writeSummary(id, { ...(await store.readSummary(id))!, ended_at: "some day" });
  const loaded = await sessions.load(id);
  loaded.prompt({ text: "two" });
  await loaded.idle();
  await sessions.close(id);
  expect(await store.readSummary(id)).toMatchObject({ turns: 2, state: "idle" });
  expect(errors).toEqual([]);
});

test("an evicted session that another program widened gets no wider settings here than the start settings", async () => {
  const store: Store = createMemoryStore();
  let now = 0;
  const strict = { model: "m", readOnly: true };
  const sessions = makeSessions(speaking("hello"), { store, ttl: 1, monotonic: () => now, defaults: strict });
  const { id, ended } = await sessions.create({ cwd: "/" });
  now += 5000;
  sessions.evictIdle();
  await ended;
  const other = makeSessions(speaking("hello"), { store });
  await (await other.load(id)).set({ mode: "auto" });
  await other.shutdown();
  expect((await sessions.load(id)).mode).toBe("read-only");
});

test("a session that another program has is not torn down", async () => {
  const store: Store = createMemoryStore();
  const snapshots = createSnapshotStore({ root: scratch() });
  const cwd = scratch();
  const path = join(cwd, "a.txt");
  const { id, ...session } = await makeSessions(changing(path), { store, snapshots }).create({ cwd });
  session.prompt({ text: "go" });
  await session.idle();
  const other = makeSessions(speaking("hello"), { store, snapshots });
  await expect(other.tearDown(id)).rejects.toMatchObject({ code: "session_claimed" });
  expect((await store.readSummary(id))?.closed).toBeUndefined();
  expect(await session.undo()).toMatchObject({ turns: 1 });
  expect(existsSync(path)).toBe(false);
});

test("a session whose summary lost most of its fields is loaded from its log", {
  tags: ["needs-files"],
}, async () => {
  const [root, cwd] = [scratch(), scratch()];
  const open = () => createFileStore<SessionEvent, Summary>({ root, summaries: sessionSummaries });
  const first = open();
  const sessions = makeSessions(speaking("hello"), { store: first });
  const { id, ...session } = await sessions.create({ cwd });
  session.prompt({ text: "one" });
  await session.idle();
  await sessions.shutdown();
  await first.close();
  writeFileSync(join(root, "eventlog", id, "summary.json"), '{"v":2}');
  const second = open();
  onTestFinished(() => second.close());
  expect(await makeSessions(speaking("hello"), { store: second }).load(id)).toMatchObject({ cwd, title: "hello" });
});

test("a session whose log another process took over is unloaded, and can be loaded when it is free", async () => {
  const { store, takeOver } = breakable();
  const sessions = makeSessions(speaking("hello"), { store });
  const { id } = await sessions.create({ cwd: "/" });
  takeOver();
  await until(() => sessions.find(id) === undefined);
});

test("an evicted session is not kept in memory by the clients that stay attached", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  let now = 0;
  const sessions = makeSessions(speaking("hello"), { ttl: 1, monotonic: () => now });
  const evicted = async () => {
    const session = await sessions.create({ cwd: "/" });
    sessions.attach(session.id, { approves: true });
    session.prompt({ text: "go" });
    await session.idle();
    now += 5000;
    sessions.evictIdle();
    await session.ended;
    return new WeakRef(session.conversation);
  };
  const conversation = await evicted();
  await until(() => {
    collect();
    return conversation.deref() === undefined;
  });
});

test("a session whose files hold only zeros is damaged, and says what to do", { tags: ["needs-files"] }, async () => {
  const [root, cwd] = [scratch(), scratch()];
  const store = createFileStore<SessionEvent, Summary>({ root, summaries: sessionSummaries });
  const sessions = makeSessions(speaking("hello"), { store });
  const { id } = await sessions.create({ cwd });
  await runPrompt(sessions, id, "one");
  await sessions.shutdown();
  const directory = join(root, "eventlog", id);
  for (const name of readdirSync(directory).filter((one) => /^(summary|event)/.test(one))) {
    const zeros = Buffer.alloc(readFileSync(join(directory, name)).length);
    writeFileSync(join(directory, name), zeros);
  }
  const refused = {
    code: "session_damaged",
    message: expect.stringMatching(/put its files back from a backup, or delete/),
  };
  const later = makeSessions(speaking("hello"), { store });
  await expect(later.load(id)).rejects.toMatchObject(refused);
  await later.delete(id);
  await expect(later.load(id)).rejects.toMatchObject({ code: "session_not_found" });
});

test("a session that is lost while it is loaded does not stay loaded", async () => {
  const store: Store = createMemoryStore();
  const first = makeSessions(speaking("hello"), { store });
  const { id } = await first.create({ cwd: "/" });
  await runPrompt(first, id, "go");
  await first.shutdown();
  const lost = new AbortController();
  const sessions = makeSessions(speaking("hello"), {
    store: {
      ...store,
      open: async (one) => Object.create(await store.open(one), { lost: { value: lost.signal } }),
      read: (...given) => {
        lost.abort();
        return store.read(...given);
      },
    },
  });
  await sessions.load(id);
  await until(() => sessions.find(id) === undefined);
});
