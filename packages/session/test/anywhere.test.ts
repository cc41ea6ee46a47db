import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createMemoryStore, StoreError } from "@chimera/event-store";
import { expect, test } from "vitest";
import { createCallAnswerer, sessionsAnywhere } from "../src/anywhere.js";
import type { SessionError } from "../src/index.js";
import { makeSessions, recordsOf, speaking, typesOf } from "./fixture.js";

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
  return { there, here, reachable, id };
}

test("a session that another process has is what that process says it is, before and after a change", async () => {
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

test("a prompt with a key is run once, though nobody knows whether the first call was done", async () => {
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

test("what is asked while a session changes hands is done by the one who has it then", async () => {
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

test("nothing but what a client may do can be called", async () => {
  const { there, id } = await twoNodes();
  const answer = createCallAnswerer(there);
  for (const method of ["record", "takeUp", "letGo", "constructor", "__proto__", "toString"]) {
    const { error } = JSON.parse(await answer({ session: id, method, args: [] }));
    expect(error.message).toContain("has no method");
  }
});
