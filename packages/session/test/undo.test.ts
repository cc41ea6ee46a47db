import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createFileStore, createMemoryStore } from "@chimera/event-store";
import { createSnapshotStore } from "@chimera/snapshot-store";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Agent, Session } from "../src/index.js";
import { makeSessions, recordsOf, runPrompt, speaking, typesOf, until, untilCancelled, untilHeard } from "./fixture.js";

/**
 * Writes its prompt into the file of its turn; a prompt `stop` waits to be cancelled before its first step, and `silent` after
 * it wrote, without a step.
 */
const writing: Agent = async function* ({ prompt, number }, { workspace, signal }) {
  if (prompt.text === "stop") {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return;
  }
  if (prompt.text !== "silent") yield { type: "step_start", metadata: { step: 0 } };
  const path = join(workspace.cwd, prompt.text.startsWith("both ") ? "shared.txt" : `${number}.txt`);
  await workspace.willWrite(path);
  await workspace.writeText(path, prompt.text);
  if (prompt.text === "silent") {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return;
  }
  yield { type: "text_delta", metadata: { text: `wrote ${prompt.text}` } };
  yield { type: "step_end", metadata: { step: 0 } };
};

/** A workspace and an engine that can be restarted over the same disk. */
async function open(agent: Agent = writing, writeMs = 0) {
  const root = mkdtempSync(join(tmpdir(), "session-undo-"));
  const cwd = mkdtempSync(join(tmpdir(), "session-work-"));
  const starts: (() => Promise<void>)[] = [];
  let frozenMs = 0;
  const monotonic = () => process.uptime() * 1000 + frozenMs;
  const start = () => {
    const store = createFileStore<SessionEvent, Summary>({ root, monotonic });
    const sessions = makeSessions(agent, {
      store,
      snapshots: createSnapshotStore({ root: join(root, "snapshots") }),
      disk: {
        readText: async (path) => readFileSync(path, "utf8"),
        async writeText(path, text) {
          if (writeMs > 0) await new Promise((resolve) => setTimeout(resolve, writeMs));
          writeFileSync(path, text);
        },
      },
    });
    const stop = async () => {
      await sessions.shutdown();
      await store.close();
    };
    starts.push(stop);
    return { sessions, stop };
  };
  onTestFinished(async () => {
    for (const stop of starts) await stop();
    for (const path of [root, cwd]) rmSync(path, { recursive: true, force: true });
  });
  const { sessions, stop } = start();
  const session = await sessions.create({ cwd });
  const file = (name: string) => (existsSync(join(cwd, name)) ? readFileSync(join(cwd, name), "utf8") : null);
  /** As if these processes had been frozen for 31 s, and no timer had run since. */
  const thaw = () => {
    frozenMs = 31_000;
  };
  return { sessions, session, stop, start, file, cwd, thaw };
}

/** A turn that changes a file and takes no step. */
async function runSilently(session: Session, wrote: () => boolean): Promise<void> {
  session.prompt({ text: "silent" });
  await until(wrote);
  session.cancel();
  await session.idle();
}

const said = (history: { messages(before: number): { role: string; text?: string }[] }) =>
  history
    .messages(99)
    .filter((message) => message.role === "user")
    .map((message) => message.text);

describe("undo", () => {
  test("takes back messages and files together, redo brings both again", async () => {
    const { sessions, session, file } = await open();
    for (const text of ["one", "two"]) await runPrompt(sessions, session.id, text);
    expect(await session.undo()).toMatchObject({
      turns: 1,
      remaining: 1,
      conflicts: [],
      message: "/undo: rewound 1 turn, 1 file restored (1 remaining)",
    });
    expect([file("0.txt"), file("1.txt"), said(session.conversation)]).toEqual(["one", null, ["one"]]);
    expect((await session.redo()).message).toBe("/redo: replayed 1 turn, 1 file restored (0 remaining)");
    expect([file("0.txt"), file("1.txt"), said(session.conversation)]).toEqual(["one", "two", ["one", "two"]]);
  });

  test("reports which file it left alone, and why", async () => {
    const { sessions, session, cwd } = await open();
    const large = join(cwd, "0.txt");
    writeFileSync(large, "");
    truncateSync(large, 30 * 1024 * 1024);
    await runPrompt(sessions, session.id, "one");
    const report = await session.undo();
    const path = realpathSync(large);
    expect(report.message).toBe(
      `/undo: rewound 1 turn (0 remaining); left alone because they were not kept: ${path} (too large)`,
    );
    const files = [{ path, outcome: "skipped", reason: "too_large" }];
    expect(report.files).toEqual(files);
    expect((await recordsOf(sessions, session.id)).at(-1)).toMatchObject({ type: "undo", metadata: { files } });
  });

  test("undoes several turns, at most those there are, and then says that there are none", async () => {
    const { sessions, session, file } = await open();
    for (const text of ["one", "two", "three"]) await runPrompt(sessions, session.id, text);
    expect((await session.undo({ steps: 2 })).turns).toBe(2);
    expect((await session.undo({ steps: 50 })).turns).toBe(1);
    expect([file("0.txt"), file("1.txt"), file("2.txt")]).toEqual([null, null, null]);
    expect((await session.undo()).message).toBe("/undo: nothing to undo");
    expect((await session.redo({ steps: 3 })).turns).toBe(3);
    expect((await session.redo()).message).toBe("/redo: nothing to redo");
  });

  test("a new turn discards what could be redone", async () => {
    const { sessions, session, file } = await open();
    await runPrompt(sessions, session.id, "one");
    await session.undo();
    await runPrompt(sessions, session.id, "instead");
    expect((await session.redo()).turns).toBe(0);
    expect([file("0.txt"), file("1.txt"), said(session.conversation)]).toEqual([null, "instead", ["instead"]]);
  });

  test("an undone turn that a new prompt replaced cannot be redone", async () => {
    const { sessions, session, start, stop, file } = await open();
    for (const text of ["one", "two"]) await runPrompt(sessions, session.id, text);
    await session.undo();
    await runPrompt(sessions, session.id, "three");
    await session.undo({ steps: 2 });
    expect(await session.redo({ steps: 9 })).toMatchObject({ turns: 2, remaining: 0, conflicts: [] });
    const both = () => [file("0.txt"), file("1.txt"), file("2.txt")];
    expect([both(), said(session.conversation)]).toEqual([
      ["one", null, "three"],
      ["one", "three"],
    ]);
    await stop();
    const again = await start().sessions.load(session.id);
    expect([said(again.conversation), (await again.redo()).turns]).toEqual([["one", "three"], 0]);
  });

  test("the files of a turn without a step are undone and redone with the turn before it", async () => {
    const { sessions, session, start, stop, file } = await open();
    await runPrompt(sessions, session.id, "one");
    await runSilently(session, () => file("1.txt") === "silent");
    await runPrompt(sessions, session.id, "three");
    const files = () => [file("0.txt"), file("1.txt"), file("2.txt")];
    await session.undo();
    expect(files()).toEqual(["one", "silent", null]);
    await session.undo();
    expect(files()).toEqual([null, null, null]);
    await stop();
    const again = await start().sessions.load(session.id);
    await again.redo();
    expect(files()).toEqual(["one", "silent", null]);
    await again.undo();
    expect(files()).toEqual([null, null, null]);
    await again.redo({ steps: 2 });
    expect(files()).toEqual(["one", "silent", "three"]);
  });

  test("a turn without a step does not change what can be redone", async () => {
    const { sessions, session, file } = await open();
    for (const text of ["one", "two"]) await runPrompt(sessions, session.id, text);
    await session.undo();
    await runSilently(session, () => file("2.txt") === "silent");
    expect(await session.redo()).toMatchObject({ turns: 1, conflicts: [] });
    expect([file("1.txt"), file("2.txt")]).toEqual(["two", "silent"]);
    await session.undo({ steps: 2 });
    expect([file("0.txt"), file("1.txt"), file("2.txt")]).toEqual([null, null, null]);
  });

  test("concurrent undos run one after another", async () => {
    const { sessions, session, file } = await open();
    for (const text of ["one", "two"]) await runPrompt(sessions, session.id, text);
    const [first, second] = await Promise.all([session.undo(), session.undo()]);
    expect([first.turns, first.remaining, second.turns, second.remaining]).toEqual([1, 1, 1, 0]);
    expect([file("0.txt"), file("1.txt"), said(session.conversation)]).toEqual([null, null, []]);
  });

  test("an undo during a close happens whole or not at all", async () => {
    const { sessions, session, file } = await open();
    for (const text of ["one", "two"]) await runPrompt(sessions, session.id, text);
    const undo = session.undo().then(
      () => true,
      () => false,
    );
    await sessions.close(session.id);
    const undone = await undo;
    const again = await sessions.load(session.id);
    expect([file("1.txt"), said(again.conversation)]).toEqual(undone ? [null, ["one"]] : ["two", ["one", "two"]]);
    await again[undone ? "redo" : "undo"]();
    expect([file("1.txt"), said(again.conversation)]).toEqual(undone ? ["two", ["one", "two"]] : [null, ["one"]]);
  });

  test("after a clear there is nothing left to redo", async () => {
    const { sessions, session, file } = await open();
    await runPrompt(sessions, session.id, "one");
    await session.undo();
    session.clear();
    expect((await session.redo()).turns).toBe(0);
    expect(file("0.txt")).toBeNull();
  });

  test.for(["undo", "redo"] as const)("an %s during a clear does not happen", async (direction) => {
    const { sessions, session, file } = await open();
    for (const text of ["one", "two"]) await runPrompt(sessions, session.id, text);
    await session.undo();
    await session.idle();
    const rewound = session[direction]();
    await session.clear();
    expect((await rewound).turns).toBe(0);
    expect([file("0.txt"), file("1.txt")]).toEqual(["one", null]);
    expect((await recordsOf(sessions, session.id)).at(-1)?.type).toBe("cleared");
  });

  test("survives a restart, in both directions", async () => {
    const { sessions, session, stop, start, file } = await open();
    for (const text of ["one", "two"]) await runPrompt(sessions, session.id, text);
    await session.undo();
    await stop();
    const again = await start().sessions.load(session.id);
    expect(said(again.conversation)).toEqual(["one"]);
    expect((await again.redo()).turns).toBe(1);
    expect([file("1.txt"), said(again.conversation)]).toEqual(["two", ["one", "two"]]);
    await again.undo({ steps: 2 });
    expect([file("0.txt"), said(again.conversation)]).toEqual([null, []]);
  });

  test("keeps a file that somebody changed since, unless it is forced", async () => {
    const { sessions, session, file, cwd } = await open();
    await runPrompt(sessions, session.id, "one");
    writeFileSync(join(cwd, "0.txt"), "mine");
    const report = await session.undo({ dryRun: true });
    const path = join(cwd, "0.txt");
    expect(report.conflicts).toEqual([path]);
    expect(report.files).toEqual([{ path, outcome: "conflict", reason: "changed_since" }]);
    expect((await session.undo()).message).toContain("kept because they changed since");
    expect(file("0.txt")).toBe("mine");
  });

  test("a dry run reports and changes nothing", async () => {
    const { sessions, session, file } = await open();
    await runPrompt(sessions, session.id, "one");
    const before = (await recordsOf(sessions, session.id)).length;
    expect((await session.undo({ dryRun: true })).turns).toBe(1);
    expect(file("0.txt")).toBe("one");
    expect(await recordsOf(sessions, session.id)).toHaveLength(before);
  });

  test("matches files to turns when a turn was cancelled before its first step", async () => {
    const { sessions, session, file } = await open();
    await runPrompt(sessions, session.id, "both one");
    await runPrompt(sessions, session.id, "both two");
    session.prompt({ text: "stop" });
    await until(() => session.conversation.turns[2]?.started === true);
    session.cancel();
    await session.idle();
    await session.undo();
    expect([file("shared.txt"), said(session.conversation)]).toEqual(["both one", ["both one"]]);
  });

  test("is refused while a turn runs, and does not count as a turn", async () => {
    const { sessions, session } = await open();
    await runPrompt(sessions, session.id, "one");
    session.prompt({ text: "stop" });
    await expect(session.undo()).rejects.toMatchObject({ code: "turn_running" });
    session.cancel();
    await session.idle();
    const records = await runPrompt(sessions, session.id, "/undo");
    expect(records.at(-1)?.metadata).toMatchObject({ output: "/undo: rewound 1 turn, 1 file restored (0 remaining)" });
    const redone = await runPrompt(sessions, session.id, "/redo --steps 4");
    expect(redone.at(-1)?.metadata).toMatchObject({ output: "/redo: replayed 1 turn, 1 file restored (0 remaining)" });
  });
});

describe("files whose snapshots are gone", () => {
  /** Writes a file, and says so; of the prompt `nothing` it leaves the file as it was. */
  const editing: Agent = async function* ({ prompt, number }, { workspace }) {
    yield { type: "step_start", metadata: { step: 0 } };
    const path = join(workspace.cwd, `${number}.txt`);
    await workspace.willWrite(path);
    writeFileSync(path, prompt.text);
    yield { type: "file_edit", metadata: { path, diff: "", change: "add" } };
    if (prompt.text === "nothing") rmSync(path);
    yield { type: "step_end", metadata: { step: 0 } };
  };
  const notKept = (cwd: string, name: string) => ({
    turns: 1,
    files: [{ path: join(cwd, name), outcome: "skipped", reason: "not_kept" }],
    message: `/undo: rewound 1 turn (0 remaining); left alone because they were not kept: ${join(cwd, name)}`,
  });

  test("are reported by an undo after /new dropped them, and by one in a fork", async () => {
    const { sessions, session, cwd, file } = await open(editing);
    await runPrompt(sessions, session.id, "one");
    const fork = await sessions.fork(session.id);
    expect(await fork.undo()).toMatchObject(notKept(cwd, "0.txt"));
    await runPrompt(sessions, session.id, "/new");
    expect(await session.undo({ dryRun: true })).toMatchObject(notKept(cwd, "0.txt"));
    expect(await session.undo()).toMatchObject(notKept(cwd, "0.txt"));
    expect((await recordsOf(sessions, session.id)).at(-1)?.metadata).toMatchObject({ files: [{ reason: "not_kept" }] });
    expect(file("0.txt")).toBe("one");
  });

  test("do not keep the turns of a fork that edited them too from being undone and redone", async () => {
    const { sessions, session, cwd, file } = await open(async function* ({ prompt }, { workspace }) {
      yield { type: "step_start", metadata: { step: 0 } };
      const path = join(workspace.cwd, "a.txt");
      await workspace.willWrite(path);
      writeFileSync(path, prompt.text);
      yield { type: "file_edit", metadata: { path, diff: "", change: "update" } };
      yield { type: "step_end", metadata: { step: 0 } };
    });
    await runPrompt(sessions, session.id, "one");
    const fork = await sessions.fork(session.id);
    await runPrompt(sessions, fork.id, "two");
    const restored = { turns: 2, files: [{ path: join(cwd, "a.txt"), outcome: "restored" }] };
    expect(await fork.undo({ steps: 2 })).toMatchObject(restored);
    expect(file("a.txt")).toBe("one");
    expect(await fork.redo({ steps: 2 })).toMatchObject(restored);
    expect(file("a.txt")).toBe("two");
  });

  test("are reported if the oldest turns did not fit, but not for a turn that changed nothing", async () => {
    const [root, cwd] = [mkdtempSync(join(tmpdir(), "session-undo-")), mkdtempSync(join(tmpdir(), "session-work-"))];
    onTestFinished(() => {
      for (const path of [root, cwd]) rmSync(path, { recursive: true, force: true });
    });
    const snapshots = createSnapshotStore({ root, limits: { sessionBytes: 4 } });
    const sessions = makeSessions(editing, { snapshots });
    const session = await sessions.create({ cwd });
    for (const text of ["one", "nothing", "three"]) await runPrompt(sessions, session.id, text);
    const undone = await session.undo();
    expect(undone.files).toEqual([{ path: join(cwd, "2.txt"), outcome: "deleted" }]);
    expect((await session.undo()).message).toBe("/undo: rewound 1 turn (1 remaining)");
    expect(await session.undo()).toMatchObject(notKept(cwd, "0.txt"));
  });
});

test("covers an unfinished write of a cancelled turn, and refuses a write that begins after it", async () => {
  let write = () => {};
  const late: { error?: unknown } = {};
  const leaving: Agent = async function* (_turn, { workspace, signal }) {
    yield { type: "step_start", metadata: { step: 0 } };
    const path = join(workspace.cwd, "late.txt");
    const held = new Promise<void>((resolve) => {
      write = resolve;
    });
    void workspace.writeText(path, "late").catch(() => {});
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    void held
      .then(() => workspace.writeText(join(workspace.cwd, "after.txt"), "x"))
      .catch((error) => {
        late.error = error;
      });
  };
  const { session, file } = await open(leaving, 100);
  session.prompt({ text: "go" });
  await until(() => session.conversation.turns[0]?.steps === 1);
  await new Promise((resolve) => setTimeout(resolve, 30));
  session.cancel();
  await session.idle();
  expect(file("late.txt")).toBe("late");
  write();
  await until(() => late.error !== undefined);
  expect(file("after.txt")).toBeNull();
  expect(await session.undo()).toMatchObject({ conflicts: [] });
  expect(file("late.txt")).toBeNull();
});

describe("a fork", () => {
  test("copies the records verbatim up to the end of a turn and says where it came from", async () => {
    const { sessions, session } = await open();
    for (const text of ["one", "two"]) await runPrompt(sessions, session.id, text);
    const child = await sessions.fork(session.id, { turn: 0 });
    const parent = await recordsOf(sessions, session.id);
    const copied = await recordsOf(sessions, child.id);
    expect(copied.slice(0, -1)).toEqual(parent.slice(0, copied.length - 1));
    expect(copied.at(-1)).toMatchObject({ type: "forked", metadata: { from: session.id, at: copied.length - 1 } });
    expect(child.summary()).toMatchObject({ parent_id: session.id });
    expect(said(child.conversation)).toEqual(["one"]);
  });

  test("is independent of its parent, and its undo does not touch the parent's files", async () => {
    const { sessions, session, file } = await open();
    await runPrompt(sessions, session.id, "one");
    const child = await sessions.fork(session.id);
    await runPrompt(sessions, child.id, "other");
    expect(said(session.conversation)).toEqual(["one"]);
    await child.undo({ steps: 2 });
    expect([file("0.txt"), file("1.txt"), said(child.conversation)]).toEqual(["one", null, []]);
  });

  test("reads the log of a stored parent once, and applies the changes after the turn", async () => {
    const store = createMemoryStore<SessionEvent, Summary>();
    const before = makeSessions(speaking("hi"), { store });
    const parent = await before.create({ cwd: "/" });
    for (const text of ["one", "two"]) await runPrompt(before, parent.id, text);
    await parent.set({ mode: "read-only" });
    await before.shutdown();
    let reads = 0;
    const read: typeof store.read = (...range) => {
      reads++;
      return store.read(...range);
    };
    const sessions = makeSessions(speaking("hi"), { store: { ...store, read } });
    for (const [turn, texts] of [
      [0, ["one"]],
      [undefined, ["one", "two"]],
    ] as const) {
      reads = 0;
      const child = await sessions.fork(parent.id, { turn });
      expect([reads, said(child.conversation), child.mode]).toEqual([1, texts, "read-only"]);
    }
  });

  test("repeats undo, clear and title of its parent after the last turn, unless it ends at an earlier turn", async () => {
    const { sessions, session } = await open();
    for (const text of ["one", "two"]) await runPrompt(sessions, session.id, text);
    await session.undo();
    const rewound = await sessions.fork(session.id);
    expect([said(rewound.conversation), rewound.conversation.redoable().length]).toEqual([["one"], 1]);
    await session.redo();
    expect(said((await sessions.fork(session.id)).conversation)).toEqual(["one", "two"]);
    await session.undo();
    session.prompt({ text: "stop" });
    await session.clear();
    await session.setTitle("mine");
    const cleared = await sessions.fork(session.id);
    expect([said(cleared.conversation), cleared.conversation.redoable(), cleared.title]).toEqual([[], [], "mine"]);
    expect(cleared.summary()).toMatchObject({ ended_at: expect.stringMatching(/Z$/), success: true });
    expect(said((await sessions.fork(session.id, { turn: 1 })).conversation)).toEqual(["one", "two"]);
    session.cancel();
  });

  test("ends with the turn that ended last", async () => {
    const sessions = makeSessions(untilCancelled("part"));
    const session = await sessions.create({ cwd: "/" });
    session.prompt({ text: "one" });
    session.prompt({ text: "two" });
    await untilHeard(session);
    await session.cancel(1);
    await session.cancel(0);
    await session.idle();
    const child = await sessions.fork(session.id);
    expect(child.conversation.turns.map(({ result }) => result?.cancelled)).toEqual([true, true]);
  });

  test("keeps the parent's settings and leaves out what is not finished", async () => {
    const { sessions, session } = await open();
    await expect(sessions.fork(session.id)).rejects.toMatchObject({ code: "nothing_to_fork" });
    await runPrompt(sessions, session.id, "one");
    session.set({ model: "another" });
    session.set({ mode: "auto" });
    session.prompt({ text: "stop" });
    const child = await sessions.fork(session.id);
    expect([child.settings.model, child.mode, said(child.conversation)]).toEqual(["another", "auto", ["one"]]);
    await expect(sessions.fork(session.id, { turn: 7 })).rejects.toMatchObject({ code: "nothing_to_fork" });
    session.cancel();
  });
});

describe("a process that was frozen while another took its session over", () => {
  test("undoes nothing, writes nothing, names the new holder, and shows the new records", {
    tags: ["needs-files"],
  }, async () => {
    const { sessions, session, cwd, start, thaw } = await open();
    await runPrompt(sessions, session.id, "mine");
    const seen: string[] = [];
    sessions.logs.follow(session.id, { from: 0, sleeps: "unloaded" }, (batch) => {
      seen.push(...typesOf(batch));
    });
    const heir = start().sessions;
    await expect(heir.load(session.id)).rejects.toMatchObject({ code: "session_claimed" });
    thaw();
    await runPrompt(heir, session.id, "theirs");
    await heir.load(session.id).then((theirs) => theirs.setTitle("theirs"));

    const refused = {
      code: "session_claimed",
      holder: { pid: process.pid },
      message: expect.stringMatching(/is open in/),
    };
    await expect(session.undo()).rejects.toMatchObject(refused);
    expect(readFileSync(join(cwd, "0.txt"), "utf8")).toBe("mine");
    await until(() => sessions.find(session.id) === undefined);
    expect((await sessions.logs.readSummary(session.id))?.title).toBe("theirs");
    await until(() => seen.filter((type) => type === "agent_result").length === 2);
    const before = seen.length;
    await heir.load(session.id).then((theirs) => theirs.undo());
    await until(() => seen.slice(before).includes("undo"));
    expect(existsSync(join(cwd, "1.txt"))).toBe(false);
  });

  test("stops a turn before it writes a file, and makes no snapshot", { tags: ["needs-files"] }, async () => {
    let go = () => {};
    const asked = new Promise<void>((resolve) => {
      go = resolve;
    });
    const waiting: Agent = async function* (turn, context) {
      yield { type: "text_delta", metadata: { text: "about to write" } };
      await asked;
      yield* writing(turn, context);
    };
    const { sessions, session, cwd, start, thaw } = await open(waiting);
    session.prompt({ text: "mine" });
    await untilHeard(session);
    const heir = start().sessions;
    await heir.load(session.id).catch(() => {});
    thaw();
    await heir.load(session.id);
    go();
    await until(() => sessions.find(session.id) === undefined);
    expect(existsSync(join(cwd, "0.txt"))).toBe(false);
    expect(typesOf(await recordsOf(heir, session.id)).filter((type) => type === "agent_result")).toHaveLength(1);
  });
});

test("one notice before the first command says that a workspace is too large for undo", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "session-large-"));
  const root = mkdtempSync(join(tmpdir(), "session-undo-"));
  onTestFinished(() => {
    for (const path of [root, cwd]) rmSync(path, { recursive: true, force: true });
  });
  for (let file = 0; file < 4; file++) writeFileSync(join(cwd, `${file}`), "");
  const running: Agent = async function* (_turn, { workspace }) {
    const ended = await workspace.willRun("touch x");
    yield { type: "text_delta", metadata: { text: "the command runs" } };
    await ended();
  };
  const sessions = makeSessions(running, { snapshots: createSnapshotStore({ root, limits: { baselineFiles: 2 } }) });
  const { id } = await sessions.create({ cwd });
  const records = await runPrompt(sessions, id, "go");
  const notice = records.findIndex(({ type }) => type === "notice");
  expect(records[notice]?.metadata).toMatchObject({
    level: "warning",
    text: expect.stringContaining(realpathSync(cwd)),
  });
  expect(notice).toBeLessThan(records.findIndex(({ type }) => type === "text_delta"));
  expect(typesOf(await runPrompt(sessions, id, "again"))).not.toContain("notice");
});
