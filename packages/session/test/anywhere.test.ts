import type { AgentEvent, SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createMemoryStore, StoreError } from "@chimera/event-store";
import { expect, test } from "vitest";
import { createCallAnswerer, sessionsAnywhere } from "../src/anywhere.js";
import type { Agent, SessionError } from "../src/index.js";
import { makeSessions, recordsOf, runPrompt, speaking, typesOf, until } from "./fixture.js";

/** Two processes on one store: one has the session, and the other reaches it by calls that pass through `route`. */
async function twoNodes(route: (answer: () => Promise<string>) => Promise<string | null> = (answer) => answer()) {
  const store = createMemoryStore<SessionEvent, Summary>();
  const there = makeSessions(speaking("done"), { store });
  const here = makeSessions(speaking("done here"), { store });
  const answer = createCallAnswerer(there);
  const reachable = sessionsAnywhere(here, {
    ask: (_id, request) => route(() => answer(JSON.parse(request).call)),
  });
  const { id } = await there.create({ cwd: "/", settings: { maxSteps: 7 } });
  return { store, there, here, reachable, id };
}

test("the state of another process's session is the same here as there, before and after a change", async () => {
  const { reachable, there, id } = await twoNodes();
  const session = await reachable.load(id);
  expect([reachable.isAway?.(id), reachable.find(id)?.id]).toEqual([true, id]);
  expect(session.settings).toEqual(there.find(id)?.settings);
  await session.set({ model: "another" });
  await session.setTitle("From afar");
  expect([session.settings.model, session.title]).toEqual(["another", "From afar"]);
  expect(session.settings).toEqual(there.find(id)?.settings);
  const { turn } = await session.prompt({ text: "hello" });
  await session.idle();
  expect(session.conversation.turns[turn]?.result).toMatchObject({ success: true, output: "done" });
  expect(session.summary()).toMatchObject({ ...there.find(id)?.summary() });
  await expect(session.set({ model: "" })).rejects.toMatchObject({ code: "invalid_setting" });
  await expect(session.answer("perm-1", "allow")).rejects.toMatchObject({ code: "permission_not_found" });
});

test("a prompt with a key runs once, even if the outcome of the first call is unknown", async () => {
  let isLost = false;
  const { reachable, there, id } = await twoNodes(async (answer) => {
    const reply = await answer();
    if (isLost) {
      isLost = false;
      throw new StoreError("outcome_unknown", "the node died");
    }
    return reply;
  });
  const session = await reachable.load(id);
  isLost = true;
  const { turn } = await session.prompt({ text: "once", key: "mine" });
  await session.idle();
  const prompts = typesOf(await recordsOf(there, id)).filter((type) => type === "user_message");
  expect([turn, prompts.length]).toEqual([0, 1]);
  // Without a key nobody may send it again.
  isLost = true;
  const failure: SessionError = await Promise.resolve(session.prompt({ text: "twice?" })).catch((error) => error);
  expect(failure.code).toBe("outcome_unknown");
});

test("a call while a session is moving is run by the process that gets it", async () => {
  let isMoving = false;
  const { reachable, here, there, id } = await twoNodes(async (answer) => (isMoving ? null : answer()));
  const session = await reachable.load(id);
  await session.prompt({ text: "there" });
  await session.idle();
  isMoving = true;
  const asked = Promise.resolve(session.prompt({ text: "here", key: "k" }));
  await there.shutdown();
  const { turn } = await asked;
  expect(turn).toBe(1);
  await here.find(id)?.idle();
  expect([reachable.isAway?.(id), reachable.find(id)]).toEqual([false, here.find(id)]);
  const records = await recordsOf(here, id);
  expect(typesOf(records).filter((type) => type === "user_message")).toHaveLength(2);
  expect(here.find(id)?.conversation.turns[turn]?.result).toMatchObject({ output: "done here" });
});

test("only the methods of a client can be called", async () => {
  const { there, id } = await twoNodes();
  const answer = createCallAnswerer(there);
  for (const method of ["record", "takeUp", "letGo", "constructor", "__proto__", "toString"]) {
    const { error } = JSON.parse(await answer({ session: id, method, args: [] }));
    expect(error.message).toContain("has no method");
  }
});

test("a person who may only read a session cannot change it by calls", async () => {
  const questions: Agent = async function* (_turn, { question }) {
    yield { type: "step_start", metadata: { step: 0 } } satisfies AgentEvent;
    await question?.({ call_id: "c1", question: "Which?", options: [{ name: "a" }, { name: "b" }] });
  };
  const sessions = makeSessions(questions);
  const session = await sessions.create({ cwd: "/", owner: "ada" });
  await session.share(true);
  sessions.attach(session.id, { approves: true });
  session.prompt({ text: "ask me" });
  await until(() => session.openQuestions.size === 1);
  const [asked = ""] = session.openQuestions.keys();
  const before = session.lastSeq;
  const answer = createCallAnswerer(sessions);
  const calls: Readonly<Record<string, readonly unknown[]>> = {
    prompt: [{ text: "hi" }],
    cancel: [],
    answer: ["perm-1", "allow"],
    answerQuestion: [asked, "a"],
    set: [{ model: "another" }],
    setTitle: ["taken"],
    share: [false],
    notify: ["info", "hi"],
    clear: [],
    undo: [],
    redo: [],
    close: [],
    delete: [],
  };
  for (const person of [
    { name: "bob", role: "user" },
    { name: "eve", role: "viewer" },
  ] as const) {
    for (const [method, values] of Object.entries(calls)) {
      const args = values.map((value) => ({ value }));
      const { error } = JSON.parse(await answer({ session: session.id, method, args, person }));
      expect([method, error?.code]).toEqual([method, "read_only"]);
    }
  }
  expect(session.lastSeq).toBe(before);
});

test("a prompt of a person who may only read does not keep questions open", async () => {
  const sessions = makeSessions(async function* (_turn, { ask }) {
    const { decision, by } = await ask({ call_id: "c", tool: "Bash", args: { command: "ls" }, risk: "low" });
    yield { type: "text_delta", metadata: { text: `${decision} by ${by}` } } satisfies AgentEvent;
  });
  const session = await sessions.create({ cwd: "/", owner: "ada" });
  await session.share(true);
  const args = [{ value: { text: "hi" } }];
  const person = { name: "bob", role: "user" } as const;
  const answer = createCallAnswerer(sessions);
  const { error } = JSON.parse(await answer({ session: session.id, method: "prompt", args, person }));
  expect(error.code).toBe("read_only");
  const { turn } = session.prompt({ text: "go on" });
  await until(() => session.openPermissions.size > 0 || session.conversation.turns[turn]?.ended === true);
  expect([...session.openPermissions.keys()]).toEqual([]);
  expect(session.conversation.turns[turn]?.result?.output).toBe("deny by rule");
});

test("a session that was read while it was stored has its own settings after another process loaded it", async () => {
  let isHeld = true;
  const { store, reachable, there, id } = await twoNodes(async (answer) => (isHeld ? answer() : null));
  await runPrompt(there, id, "hello");
  isHeld = false;
  await there.shutdown();
  const { close, ended } = reachable.logs.follow(id, { from: 0 }, () => {});
  await until(() => reachable.isAway?.(id) === true);
  const third = makeSessions(speaking("done"), { store });
  const held = await third.load(id);
  expect((await reachable.load(id)).settings).toEqual(held.settings);
  expect(held.settings.maxSteps).toBe(7);
  close();
  await ended;
});
