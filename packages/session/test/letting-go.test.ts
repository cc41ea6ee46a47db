// A session that has been idle is let go: another process may go on with it, and this one takes it up again where it was or reads on.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EngineMemory } from "@chimera/acp-schema/agent";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createFileStore } from "@chimera/event-store";
import { createSnapshotStore } from "@chimera/snapshot-store";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Agent, Sessions, SessionsDeps } from "../src/index.js";
import { makeSessions, recordsOf, runPrompt, speaking, typesOf, until, untilCancelled } from "./fixture.js";

const HOLD = 0.15;

/** Two programs over one home. */
async function twoPrograms(agent: Agent = speaking("hello"), overrides: Partial<SessionsDeps> = {}) {
  const root = await mkdtemp(join(tmpdir(), "chimera-hold-"));
  const unloaded: string[] = [];
  const make = (program: string, more: Partial<SessionsDeps>) => {
    const store = createFileStore<SessionEvent, Summary>({ root, program });
    const sessions = makeSessions(agent, { store, ...more, ...overrides });
    onTestFinished(async () => {
      await sessions.shutdown();
      await store.close();
    });
    return sessions;
  };
  const one = make("one", { hold: HOLD, onUnload: async (id) => void unloaded.push(id) });
  const other = make("other", { hold: HOLD, howToJoin: async ({ program }) => `ask ${program}` });
  onTestFinished(() => rm(root, { recursive: true, force: true, maxRetries: 3 }));
  return { one, other, unloaded, root };
}

/** An agent that keeps what a session gives its engine. */
function keepingEngine() {
  const kept: EngineMemory[] = [];
  const agent: Agent = async function* (_turn, { session }) {
    kept.push(session);
    yield { type: "text_delta", metadata: { text: "hello" } };
  };
  return { agent, engine: () => kept.at(-1)! };
}

/** An agent that writes a file. */
function writing(path: string): Agent {
  return async function* (_turn, { workspace }) {
    yield { type: "step_start", metadata: { step: 0 } };
    await workspace.willWrite(path);
    await writeFile(path, "written");
    yield { type: "step_end", metadata: { step: 0 } };
  };
}

/** Opens a session as soon as no process has it. */
async function openWhenFree(sessions: Sessions, id: string): Promise<void> {
  await vi.waitFor(() => sessions.load(id), { interval: 20, timeout: 10_000 });
}

describe("an idle session", () => {
  test("is not closed by a process that does not have it", async () => {
    const { one, other } = await twoPrograms(speaking("hello"), { hold: 0 });
    const { id } = await one.create({ cwd: "/" });
    await runPrompt(one, id, "first");
    await expect(other.close(id)).rejects.toMatchObject({ code: "session_claimed" });
    await one.close(id);
    await other.load(id);
    await expect(one.close(id)).rejects.toMatchObject({ code: "session_claimed" });
  });

  test("is taken up unchanged: the same object, and everything that was started for it still runs", async () => {
    const { one, unloaded } = await twoPrograms();
    const session = await one.create({ cwd: "/" });
    await runPrompt(one, session.id, "first");
    await session.set({ option: "auto_approve_writes", value: true });
    const { settings } = session;
    await until(() => one.find(session.id) === undefined);
    // Its summary is saved first.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(one.live().map(({ id }) => id)).toEqual([session.id]);
    expect(() => session.prompt({ text: "into the void" })).toThrow(/load it again/);
    expect(await one.load(session.id)).toBe(session);
    expect(session.settings).toEqual(settings);
    expect(typesOf(await runPrompt(one, session.id, "second"))).toContain("agent_result");
    expect(unloaded).toEqual([]);
  });

  test("is taken up for events and memory of its engine between turns", async () => {
    const { engine, agent } = keepingEngine();
    const { one } = await twoPrograms(agent);
    const session = await one.create({ cwd: "/" });
    const { id } = session;
    await runPrompt(one, id, "first");
    await until(() => session.isLetGo);
    engine().emit({ type: "title_changed", metadata: { title: "one" } });
    engine().emit({ type: "title_changed", metadata: { title: "two" } });
    await until(() => session.title === "two");
    expect(typesOf(await recordsOf(one, id)).slice(-2)).toEqual(["title_changed", "title_changed"]);
    await until(() => session.isLetGo);
    await engine().remember({ place: 7 });
    expect(session.conversation.facts.memory).toEqual({ place: 7 });
    expect(typesOf(await runPrompt(one, id, "second"))).toContain("agent_result");
    expect(await one.load(id)).toBe(session);
  });

  test("is held while an undo restores files, however long it takes", async () => {
    const root = await mkdtemp(join(tmpdir(), "chimera-undo-"));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    const { session: open, ...snapshots } = createSnapshotStore({ root: join(root, "snapshots") });
    const slowly = (...asked: Parameters<typeof open>): ReturnType<typeof open> => {
      const session = open(...asked);
      const restore: typeof session.restore = async (...which) => {
        await new Promise((resolve) => setTimeout(resolve, 4 * HOLD * 1000));
        return session.restore(...which);
      };
      return { ...session, restore };
    };
    const { one } = await twoPrograms(writing(join(root, "a.txt")), { snapshots: { ...snapshots, session: slowly } });
    const session = await one.create({ cwd: root });
    await runPrompt(one, session.id, "write it");
    expect(await session.undo()).toMatchObject({ turns: 1, files: [{ outcome: "deleted" }] });
    expect(session.isLetGo).toBe(false);
    await until(() => session.isLetGo);
  });

  test("is held while a turn runs, and before its first prompt", async () => {
    const { one } = await twoPrograms(untilCancelled("working"));
    const fresh = await one.create({ cwd: "/" });
    const busy = await one.create({ cwd: "/" });
    busy.prompt({ text: "go" });
    await new Promise((resolve) => setTimeout(resolve, 4 * HOLD * 1000));
    expect([one.find(fresh.id), one.find(busy.id)]).toEqual([fresh, busy]);
    busy.cancel();
  });
});

describe("another process", () => {
  test("is refused with the holder and how to join it, and can load the session once it is let go", {
    tags: ["needs-files"],
  }, async () => {
    const { one, other, unloaded } = await twoPrograms();
    const session = await one.create({ cwd: "/" });
    await runPrompt(one, session.id, "first");
    const refused = {
      code: "session_claimed",
      holder: { program: "one", pid: process.pid, since: expect.any(String) },
    };
    const message = expect.stringMatching(/is open in one, process \d+ on .*; ask one$/);
    await expect(other.load(session.id)).rejects.toMatchObject({ ...refused, message });
    await expect(other.delete(session.id)).rejects.toMatchObject({ ...refused, message });

    await openWhenFree(other, session.id);
    await runPrompt(other, session.id, "second");
    await expect(one.load(session.id)).rejects.toMatchObject({ code: "session_claimed" });
    await openWhenFree(one, session.id);

    const again = await one.load(session.id);
    expect(again).not.toBe(session);
    expect(unloaded).toEqual([session.id]);
    const { turn } = again.prompt({ text: "third" });
    await again.idle();
    expect(turn).toBe(2);
    expect(again.conversation.turns.map(({ ended }) => ended)).toEqual([true, true, true]);
  });

  test("gets no events and memory from the engine of the former holder", async () => {
    const { engine, agent } = keepingEngine();
    const errors: unknown[] = [];
    const { one, other } = await twoPrograms(agent, { onError: (error) => errors.push(error) });
    const { id } = await one.create({ cwd: "/" });
    await runPrompt(one, id, "first");
    const former = engine();
    await openWhenFree(other, id);
    await runPrompt(other, id, "second");
    former.emit({ type: "title_changed", metadata: { title: "from the past" } });
    await expect(former.remember({ place: 7 })).rejects.toMatchObject({ code: "session_claimed" });
    await openWhenFree(one, id);
    former.emit({ type: "title_changed", metadata: { title: "from the past" } });
    await expect(former.remember({ place: 7 })).rejects.toMatchObject({ code: "session_closed" });
    const session = await one.load(id);
    expect([session.title, session.conversation.facts.memory]).toEqual(["hello", null]);
    expect(errors).toEqual([]);
  });

  test.each(["evicted", "shut down"])(
    "of this process is %s even if its engine remembers something at its end",
    async (how) => {
      const { engine, agent } = keepingEngine();
      const codes: string[] = [];
      const onUnload = () =>
        engine()
          .remember({ place: 7 })
          .catch(({ code }) => void codes.push(code));
      let now = 0;
      const { one } = await twoPrograms(agent, { onUnload, ttl: 60, monotonic: () => now + process.uptime() * 1000 });
      const session = await one.create({ cwd: "/" });
      await runPrompt(one, session.id, "first");
      await until(() => session.isLetGo);
      now = 100_000;
      if (how === "shut down") await one.shutdown();
      else one.evictIdle();
      await session.ended;
      await until(() => codes.length > 0);
      expect(codes).toEqual(["session_closed"]);
    },
  );

  test("can load a session whose former holder failed to free its resources", async () => {
    const onUnload = async () => Promise.reject(new Error("its engine does not end"));
    const { one, other } = await twoPrograms(speaking("hello"), { onUnload });
    const session = await one.create({ cwd: "/" });
    await runPrompt(one, session.id, "first");
    await openWhenFree(other, session.id);
    await runPrompt(other, session.id, "second");
    await vi.waitFor(() => expect(one.load(session.id)).rejects.toThrow("its engine does not end"), 10_000);
    await openWhenFree(other, session.id);
  });

  test.each(["let go", "evicted"])(
    "can replace a session that was %s by one with the same number of records",
    async (how) => {
      let now = 0;
      const eviction = how === "evicted" ? { ttl: 60, monotonic: () => now } : {};
      const { one, root } = await twoPrograms(speaking("hello"), eviction);
      const session = await one.create({ cwd: "/" });
      await runPrompt(one, session.id, "first");
      await session.set({ option: "auto_approve_writes", value: true });
      now = 100_000;
      one.evictIdle();
      await until(() => one.find(session.id) === undefined);
      const store = createFileStore<SessionEvent, Summary>({ root });
      onTestFinished(() => store.close());
      const events = (await recordsOf(one, session.id)).map((event) => ({
        event: JSON.parse(JSON.stringify(event).replace("first", "other").replace("_writes", "_execute")),
        at: Date.parse(event.ts),
      }));
      const summary = (await store.readSummary(session.id))!;
      await vi.waitFor(() => store.importLog(session.id, { summary, events, replace: true }), 10_000);
      const loaded = await one.load(session.id);
      expect(loaded.conversation.turns.map(({ prompt }) => prompt.text)).toEqual(["other"]);
      // The approvals of this process were given to the former session, so they do not hold for this one.
      expect(loaded.settings).toMatchObject({ autoApproveWrites: false, autoApproveExecute: false });
    },
  );

  test("forks a session that is held, as it is read and followed", async () => {
    const { one, other } = await twoPrograms(speaking("hello"), { hold: 0 });
    const session = await one.create({ cwd: "/" });
    await runPrompt(one, session.id, "first");
    await session.set({ model: "another-model" });
    const heard: string[] = [];
    const reading = other.logs.follow(session.id, { from: 0 }, (batch) => {
      for (const entry of batch) if ("type" in entry) heard.push(String(entry.type));
    });
    onTestFinished(() => reading.close());
    const child = await other.fork(session.id);
    expect(child.conversation.turns).toHaveLength(1);
    expect(child.settings).toEqual(session.settings);
    expect(one.find(session.id)).toBe(session);
    await runPrompt(one, session.id, "second");
    await until(() => heard.filter((type) => type === "agent_result").length === 2);
  });

  test("is followed by readers in the process that let the session go", async () => {
    const { one, other } = await twoPrograms();
    const session = await one.create({ cwd: "/" });
    await runPrompt(one, session.id, "first");
    const heard: string[] = [];
    const reading = one.logs.follow(session.id, { from: 0, sleeps: "unloaded" }, (batch) => {
      for (const entry of batch) if ("type" in entry) heard.push(String(entry.type));
    });
    onTestFinished(() => reading.close());
    // A reader that needs only the records that this process writes.
    const own: string[] = [];
    const counting = one.logs.follow(session.id, { from: 0, sleeps: "let go" }, (batch) => {
      own.push(...batch.map(({ type }) => String(type)).filter((type) => type === "agent_result"));
    });
    onTestFinished(() => counting.close());
    await openWhenFree(other, session.id);
    await runPrompt(other, session.id, "second");
    await until(() => heard.filter((type) => type === "agent_result").length === 2);
    expect(own).toEqual(["agent_result"]);
    await openWhenFree(one, session.id);
    await runPrompt(one, session.id, "third");
    await until(() => heard.filter((type) => type === "agent_result").length === 3);
  });

  test("deletes a session that was let go; it is gone in the first process too", async () => {
    const { one, other } = await twoPrograms();
    const session = await one.create({ cwd: "/" });
    await runPrompt(one, session.id, "first");
    await vi.waitFor(() => other.delete(session.id), { interval: 20, timeout: 10_000 });
    await expect(one.load(session.id)).rejects.toMatchObject({ code: "session_not_found" });
  });
});
