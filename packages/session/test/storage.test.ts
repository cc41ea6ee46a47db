// What happens when the log cannot be written: the turn stops, the callers that wait get the error, and the first write that succeeds
// ends the turn.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createFileStore, createMemoryStore, type EventStore, type LogWriter, StoreError } from "@chimera/event-store";
import { type Backend, createStore, type Held } from "@chimera/event-store/backend";
import { createExampleBackend, createExampleTable } from "@chimera/event-store/conformance";
import { createSnapshotStore } from "@chimera/snapshot-store";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Agent, AgentContext } from "../src/index.js";
import { makeSessions, recordsOf, speaking, typesOf, until, untilHeard } from "./fixture.js";

type Store = EventStore<SessionEvent, Summary>;

/**
 * A memory store whose disk can be full, or take writes and not sync them. Like the file store's, the write that fails first fails after
 * it was numbered.
 */
async function fillingStore() {
  const store: Store = createMemoryStore();
  const scratch = await createMemoryStore<SessionEvent, object>().create("otter-20260101T000000-00000000", {});
  const disk = { full: false, unsynced: false };
  const error = () => new StoreError("storage_full", "no space left");
  const fill = (writer: LogWriter<SessionEvent>): LogWriter<SessionEvent> => {
    let failed = false;
    const failing = async () => {
      if (disk.full && failed) throw error();
    };
    return {
      ...writer,
      get lastSeq() {
        return writer.lastSeq;
      },
      append(events) {
        if (!disk.full) {
          failed = false;
          return writer.append(events);
        }
        if (failed) throw error();
        failed = true;
        return scratch.append(events);
      },
      written: failing,
      async durable() {
        await failing();
        if (disk.unsynced) throw new StoreError("io", "the disk does not sync");
      },
    };
  };
  const filling: Store = {
    ...store,
    create: async (id, summary) => fill(await store.create(id, summary)),
    open: async (id) => fill(await store.open(id)),
    copy: async (...asked) => fill(await store.copy(...asked)),
  };
  return { store: filling, disk };
}

/** An agent that talks until it is stopped. */
const talking: Agent = async function* (_turn, { signal }) {
  yield { type: "step_start", metadata: { step: 0 } };
  yield {
    type: "tool_call",
    metadata: { call_id: "c1", tool: "Bash", args: {}, kind: "execute", title: "", locations: [] },
  };
  while (!signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    yield { type: "text_delta", metadata: { text: "word " } };
  }
};

async function fillDuringTurn() {
  const { store, disk } = await fillingStore();
  const sessions = makeSessions((turn, context) => (turn.number === 0 ? talking : speaking("well"))(turn, context), {
    store,
  });
  const session = await sessions.create({ cwd: "/" });
  const lost: unknown[] = [];
  sessions.attach(session.id, { approves: false, onTurnsLost: (error) => void lost.push(error) });
  session.prompt({ text: "one" });
  await untilHeard(session);
  disk.full = true;
  await session.idle();
  return { sessions, session, disk, lost, records: () => recordsOf(sessions, session.id) };
}

describe("a log that cannot be written", () => {
  test("stops the turn and notifies attached clients, without a record", async () => {
    const { session, lost, records } = await fillDuringTurn();
    expect(session.state).toBe("idle");
    expect(lost.length).toBeGreaterThan(0);
    expect(lost[0]).toMatchObject({
      code: "storage_full",
      message: expect.stringMatching(/^the disk is full.*free some/),
    });
    expect(typesOf(await records())).not.toContain("agent_result");
  });

  test("leaves the conversation equal to the log", async () => {
    const { session, records } = await fillDuringTurn();
    const written = (await records()).filter((record) => record.type === "text_delta").length;
    expect(session.conversation.count(new Set(["text_delta"]))).toBe(written);
  });

  test("refuses prompts and settings with the storage error while it lasts", async () => {
    const { session } = await fillDuringTurn();
    expect(() => session.prompt({ text: "two" })).toThrow(expect.objectContaining({ code: "storage_full" }));
    await new Promise((resolve) => setTimeout(resolve, 5));
    await expect(session.set({ mode: "auto" })).rejects.toEqual(expect.objectContaining({ code: "storage_full" }));
  });

  test("refuses a prompt that is sent again with its key, until it is written", async () => {
    const backend = createExampleBackend<SessionEvent, Summary>(createExampleTable());
    const disk = { broken: false };
    const unlessBroken = <T>(work: () => T): T => {
      if (disk.broken) throw new StoreError("io", "the disk fails");
      return work();
    };
    const failing = (held: Held): Held => ({ ...held, write: (batch) => unlessBroken(() => held.write(batch)) });
    const sessions = makeSessions(speaking("well"), {
      store: createStore({
        ...backend,
        create: async (id, summary) => failing(await backend.create(id, summary)),
        read: async (...asked) => unlessBroken(() => backend.read(...asked)),
      }),
    });
    const session = await sessions.create({ cwd: "/" });
    disk.broken = true;
    const send = async () => session.prompt({ text: "two", key: "k" }).durable;
    for (let i = 0; i < 3; i++) await expect(send()).rejects.toMatchObject({ code: "storage_failed" });
    disk.broken = false;
    await vi.waitFor(send);
    expect((await recordsOf(sessions, session.id)).filter(({ type }) => type === "user_message")).toHaveLength(1);
  });

  test("loses an event that an engine sends between turns, and the conversation does not show it either", async () => {
    const { store, disk } = await fillingStore();
    let emit: AgentContext["session"]["emit"] = () => {};
    const sessions = makeSessions(
      async function* (turn, context) {
        emit = context.session.emit;
        yield* speaking("well")(turn, context);
      },
      { store },
    );
    const session = await sessions.create({ cwd: "/" });
    session.prompt({ text: "one" });
    await session.idle();
    disk.full = true;
    emit({ type: "notice", metadata: { level: "info", text: "first" } });
    emit({ type: "notice", metadata: { level: "info", text: "second" } });
    const notices = () => session.conversation.count(new Set(["notice"]));
    await until(() => notices() === 0);
    disk.full = false;
    session.prompt({ text: "two" });
    await session.idle();
    expect(notices()).toBe(0);
    expect(typesOf(await recordsOf(sessions, session.id))).not.toContain("notice");
  });

  test("gets the end of the turn by the first write that succeeds, before anything new", async () => {
    const { session, disk, records } = await fillDuringTurn();
    const before = (await records()).length;
    disk.full = false;
    session.prompt({ text: "two" });
    await session.idle();
    const after = (await records()).slice(before);
    expect(typesOf(after).slice(0, 5)).toEqual(["tool_result", "error", "turn_end", "agent_result", "user_message"]);
    expect(after[3]).toMatchObject({ turn: 0, metadata: { success: false, error: "no space left" } });
    expect(session.conversation.turns[1]?.result).toMatchObject({ success: true, output: "well" });
    const numbers = (await records()).map((record) => record.seq);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  });

  test("makes the session forget prompts that were not written", async () => {
    const { store, disk } = await fillingStore();
    const sessions = makeSessions(talking, { store });
    const session = await sessions.create({ cwd: "/" });
    const busy: ReadonlySet<number>[] = [];
    sessions.attach(session.id, { approves: false, onTurnsLost: (_, still) => void busy.push(still) });
    session.prompt({ text: "one" });
    await untilHeard(session);
    disk.full = true;
    const accept = () => session.prompt({ text: "two" });
    // Numbered before the disk said no, or refused at once: either way it must not run later.
    await Promise.resolve()
      .then(accept, () => {})
      .then((accepted) => accepted?.durable)
      .catch(() => {});
    await session.idle();
    disk.full = false;
    expect(session.queued).toBe(0);
    expect(busy.at(-1)?.size).toBe(0);
    expect(session.conversation.turns).toHaveLength(1);
  });
});

test("files can be undone even if the log fails at the end of their turn", async () => {
  const [root, cwd] = [mkdtempSync(join(tmpdir(), "session-undo-")), mkdtempSync(join(tmpdir(), "session-work-"))];
  onTestFinished(() => {
    for (const path of [root, cwd]) rmSync(path, { recursive: true, force: true });
  });
  const { store, disk } = await fillingStore();
  const sessions = makeSessions(
    async function* (_turn, { workspace }) {
      yield { type: "step_start", metadata: { step: 0 } };
      const path = join(workspace.cwd, "a.txt");
      await workspace.willWrite(path);
      writeFileSync(path, "changed");
      disk.full = true;
      yield { type: "step_end", metadata: { step: 0 } };
    },
    { store, snapshots: createSnapshotStore({ root }) },
  );
  const session = await sessions.create({ cwd });
  session.prompt({ text: "go" });
  await session.idle();
  expect(await session.snapshots?.list()).toMatchObject([{ turn: 0 }]);
});

test("an undo that cannot be recorded leaves the files unchanged, and works once it can be recorded", async () => {
  const [root, cwd] = [mkdtempSync(join(tmpdir(), "session-undo-")), mkdtempSync(join(tmpdir(), "session-work-"))];
  onTestFinished(() => {
    for (const path of [root, cwd]) rmSync(path, { recursive: true, force: true });
  });
  const { store, disk } = await fillingStore();
  const path = join(cwd, "a.txt");
  const sessions = makeSessions(
    async function* (_turn, { workspace }) {
      yield { type: "step_start", metadata: { step: 0 } };
      await workspace.willWrite(path);
      writeFileSync(path, "changed");
      yield { type: "step_end", metadata: { step: 0 } };
    },
    { store, snapshots: createSnapshotStore({ root }) },
  );
  const session = await sessions.create({ cwd });
  writeFileSync(path, "before");
  session.prompt({ text: "go" });
  await session.idle();
  disk.full = true;
  // The write fails after the record was numbered, and the next one at once.
  for (let i = 0; i < 2; i++) await expect(session.undo()).rejects.toMatchObject({ code: "storage_full" });
  expect(readFileSync(path, "utf8")).toBe("changed");
  disk.full = false;
  await until(() => session.conversation.undoable().length === 1);
  expect(await session.undo()).toMatchObject({ turns: 1, conflicts: [] });
  expect(readFileSync(path, "utf8")).toBe("before");
  expect((await recordsOf(sessions, session.id)).filter(({ type }) => type === "undo")).toHaveLength(1);
});

test("a fork is acknowledged when its log is on disk, and a failed fork leaves nothing", async () => {
  const { store, disk } = await fillingStore();
  const sessions = makeSessions(speaking("well"), { store });
  const session = await sessions.create({ cwd: "/" });
  session.prompt({ text: "go" });
  await session.idle();
  disk.unsynced = true;
  await expect(sessions.fork(session.id)).rejects.toMatchObject({ code: "storage_failed" });
  expect(sessions.live().map(({ id }) => id)).toEqual([session.id]);
  expect((await sessions.listAll()).sessions.map(({ id }) => id)).toEqual([session.id]);
  disk.unsynced = false;
  await expect(sessions.fork(session.id)).resolves.toMatchObject({ state: "idle" });
});

describe("a permission that cannot be recorded", () => {
  test("is denied, and no tool runs", async () => {
    const { store, disk } = await fillingStore();
    let answer: unknown;
    const sessions = makeSessions(
      async function* (_turn, { ask }) {
        yield { type: "text_delta", metadata: { text: "may I?" } };
        disk.full = true;
        for (let i = 0; i < 2; i++) answer = await ask({ call_id: "c", tool: "Bash", args: {}, risk: "low" });
      },
      { store },
    );
    const session = await sessions.create({ cwd: "/" });
    sessions.attach(session.id, { approves: true });
    session.prompt({ text: "go" });
    await session.idle();
    expect(answer).toEqual({ decision: "deny", by: expect.any(String) });
  });
});

/** A disk of one megabyte. */
function smallDisk(): string {
  const root = mkdtempSync(join(tmpdir(), "session-disk-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", root]);
  onTestFinished(() => {
    execFileSync("umount", ["-l", root]);
    rmSync(root, { recursive: true, force: true });
  });
  return root;
}

const onDisk = { tags: ["needs-mount", "needs-files"] };

test("an undo whose record could not be synced stands, also when the next one fails", onDisk, async () => {
  const [root, cwd] = [smallDisk(), mkdtempSync(join(tmpdir(), "session-work-"))];
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const { store, disk } = await fillingStore();
  const sessions = makeSessions(
    async function* ({ number }, { workspace }) {
      yield { type: "step_start", metadata: { step: 0 } };
      const path = join(workspace.cwd, `${number}.txt`);
      await workspace.willWrite(path);
      writeFileSync(path, "made");
      yield { type: "step_end", metadata: { step: 0 } };
    },
    { store, snapshots: createSnapshotStore({ root }) },
  );
  const session = await sessions.create({ cwd });
  for (const text of ["one", "two"]) session.prompt({ text });
  await session.idle();
  const left = () => [readdirSync(cwd), session.conversation.undoable().map(({ number }) => number)];
  const readAgain = new Promise((resolve) => {
    sessions.attach(session.id, { approves: false, onTurnsLost: resolve });
  });
  disk.unsynced = true;
  await expect(session.undo()).rejects.toMatchObject({ code: "storage_failed" });
  disk.unsynced = false;
  await readAgain;
  expect(left()).toEqual([["0.txt"], [0]]);

  writeFileSync(join(root, "filler"), "");
  expect(() => writeFileSync(join(root, "filler"), Buffer.alloc(2 ** 21))).toThrow("ENOSPC");
  await expect(session.undo()).rejects.toMatchObject({ code: "storage_full" });
  rmSync(join(root, "filler"));
  expect(await session.snapshots?.list()).toMatchObject([{ turn: 0 }]);
  expect(left()).toEqual([["0.txt"], [0]]);
  expect(await session.undo()).toMatchObject({ turns: 1, conflicts: [] });
  expect(left()).toEqual([[], []]);
});

test("a torn-down session leaves files as its log says, after an undo whose record could not be written", {
  tags: ["needs-files"],
}, async () => {
  const [root, cwd] = [mkdtempSync(join(tmpdir(), "session-root-")), mkdtempSync(join(tmpdir(), "session-work-"))];
  onTestFinished(() => {
    for (const path of [root, cwd]) rmSync(path, { recursive: true, force: true });
  });
  const { store, disk } = await fillingStore();
  const kept = createSnapshotStore({ root });
  // The log cannot be written, and then the files cannot be put back.
  const session = (...args: Parameters<typeof kept.session>) => {
    const own = kept.session(...args);
    const restore: typeof own.restore = async (...given) => ({
      ...(await own.restore(...given)),
      takeBack: async () => Promise.reject(new Error("not now")),
    });
    return { ...own, restore };
  };
  const sessions = makeSessions(
    async function* (_turn, { workspace }) {
      yield { type: "step_start", metadata: { step: 0 } };
      const path = join(workspace.cwd, "a.txt");
      await workspace.willWrite(path);
      writeFileSync(path, "made");
      yield { type: "step_end", metadata: { step: 0 } };
    },
    { store, snapshots: { ...kept, session } },
  );
  for (const end of ["delete", "tearDown"] as const) {
    const one = await sessions.create({ cwd });
    one.prompt({ text: "go" });
    await one.idle();
    const readAgain = new Promise((resolve) => {
      sessions.attach(one.id, { approves: false, onTurnsLost: resolve });
    });
    disk.full = true;
    await expect(one.undo()).rejects.toThrow();
    disk.full = false;
    await readAgain;
    expect([readdirSync(cwd), one.conversation.undoable().length]).toEqual([[], 1]);
    await sessions[end](one.id);
    expect([readdirSync(cwd), existsSync(join(root, one.id))]).toEqual([["a.txt"], false]);
    rmSync(join(cwd, "a.txt"));
  }
});

test("a real disk that fills up ends the turn, and room made on it lets the session go on", onDisk, async () => {
  const root = smallDisk();
  const store = createFileStore<SessionEvent, Summary>({ root });
  const writing: Agent = async function* (turn, { signal }) {
    yield { type: "step_start", metadata: { step: 0 } };
    while (turn.number === 0 && !signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      yield { type: "text_delta", metadata: { text: "x".repeat(8000) } };
    }
  };
  writeFileSync(join(root, "filler"), Buffer.alloc(400 * 1024));
  const sessions = makeSessions(writing, { store });
  const session = await sessions.create({ cwd: "/" });
  const lost = new Promise<unknown>((resolve) => {
    sessions.attach(session.id, { approves: false, onTurnsLost: resolve });
  });
  session.prompt({ text: "fill it" });
  expect(await lost).toMatchObject({ code: "storage_full" });
  await session.idle();
  rmSync(join(root, "filler"));
  const { turn } = session.prompt({ text: "again" });
  await session.idle();
  expect(session.conversation.turns[0]?.result).toMatchObject({ success: false });
  expect(session.conversation.turns[turn]?.result).toMatchObject({ success: true });
  const records = await recordsOf(sessions, session.id);
  expect(records.map((record) => record.seq)).toEqual(records.map((_, index) => index + 1));
  await sessions.shutdown();
  await store.close();
});

test.each(["write", "sync"] as const)("a turn waits while a %s is slow and a megabyte is queued", async (slow) => {
  const backend = createExampleBackend<SessionEvent, Summary>(createExampleTable());
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const slowed = (held: Held): Held => ({
    ...held,
    async write(batch) {
      if (slow === "write" && batch.some(({ type }) => type === "text_delta")) await released;
      return held.write(batch);
    },
    async sync() {
      if (slow === "sync") await released;
      return Number.MAX_SAFE_INTEGER;
    },
  });
  const slowBackend: Backend<SessionEvent, Summary> = {
    ...backend,
    create: async (id, summary) => slowed(await backend.create(id, summary)),
  };
  let given = 0;
  const sessions = makeSessions(
    async function* () {
      for (; given < 200; given++) {
        yield { type: "text_delta", metadata: { text: "x".repeat(32_768) } };
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    { store: createStore(slowBackend, { durability: "event" }) },
  );
  const session = await sessions.create({ cwd: "/" });
  session.prompt({ text: "go" });
  await until(() => given > 20);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(given).toBeLessThan(60);
  release();
  await session.idle();
  expect(given).toBe(200);
});

test.each(["the turn waits for room", "a client waits for its record"])(
  "a write that fails while %s ends the turn with the error, and no text is missing before it",
  async (who) => {
    const isTurn = who.startsWith("the turn");
    const backend = createExampleBackend<SessionEvent, Summary>(createExampleTable());
    let writes = 0;
    const failing = (held: Held): Held => ({
      ...held,
      async write(batch) {
        if (batch.some(({ type }) => type === "text_delta")) {
          await new Promise((resolve) => setTimeout(resolve, 10));
          if (++writes === 3) throw new StoreError("storage_full", "no space left");
        }
        return held.write(batch);
      },
    });
    const create: typeof backend.create = async (id, summary) => failing(await backend.create(id, summary));
    const clients: Promise<unknown>[] = [];
    const errors: string[] = [];
    const sessions = makeSessions(
      async function* () {
        for (let given = 0; given < 100; given++) {
          yield { type: "text_delta", metadata: { text: `<${given}>${"x".repeat(isTurn ? 65_536 : 1)}` } };
          await new Promise((resolve) => setTimeout(resolve, 1));
          if (!isTurn) clients.push(session.durable(session.lastSeq).catch(({ code }) => code));
        }
      },
      { store: createStore({ ...backend, create }), onError: (error) => errors.push((error as StoreError).code) },
    );
    const session = await sessions.create({ cwd: "/" });
    session.prompt({ text: "go" });
    await session.idle();
    if (!isTurn) expect(await Promise.all(clients)).toContain("storage_full");
    expect(errors).toContain("storage_full");
    await session.setTitle("there is room again");
    const records = await recordsOf(sessions, session.id);
    const text = records.map((one) => (one.type === "text_delta" ? one.metadata.text : "")).join("");
    const numbers = [...text.matchAll(/<(\d+)>/g)].map(([, number]) => Number(number));
    expect(numbers).toEqual(numbers.map((_, at) => at));
    expect(numbers.length).toBeLessThan(100);
    expect(records.find(({ type }) => type === "agent_result")?.metadata).toMatchObject({ success: false });
  },
);

test("an event of an engine that cannot be encoded is reported, and the log goes on", async () => {
  let emit: AgentContext["session"]["emit"] = () => {};
  const errors: unknown[] = [];
  const sessions = makeSessions(
    async function* (turn, context) {
      emit = context.session.emit;
      yield* speaking("well")(turn, context);
    },
    { onError: (error) => void errors.push(error) },
  );
  const session = await sessions.create({ cwd: "/" });
  session.prompt({ text: "one" });
  await session.idle();
  emit({ type: "notice", metadata: { level: "info", text: 1n as never } });
  expect(errors).toMatchObject([{ code: "invalid_event" }]);
  await session.setTitle("the log is sound");
});
