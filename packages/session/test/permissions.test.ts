import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createMemoryStore } from "@chimera/event-store";
import { expect, test } from "vitest";
import type { Agent, SessionsDeps } from "../src/index.js";
import { makeSessions, recordsOf, runPrompt, speaking, until } from "./fixture.js";

const asking: Agent = async function* (_turn, { ask }) {
  const { decision, by } = await ask({ call_id: "c", tool: "Bash", args: { command: "ls" }, risk: "low" });
  yield { type: "text_delta", metadata: { text: `${decision} by ${by}` } };
};

async function asked(deps: Partial<SessionsDeps> = {}) {
  const sessions = makeSessions(asking, deps);
  const session = await sessions.create({ cwd: "/" });
  const clients = [1, 2].map(() => sessions.attach(session.id, { approves: true }));
  sessions.attach(session.id, { approves: false });
  session.prompt({ text: "go" });
  await until(() => session.openPermissions.size > 0);
  const [id] = session.openPermissions.keys();
  return { sessions, session, clients, id: id! };
}

test("unanswered requests are denied when the last client that approves leaves", async () => {
  const { session, clients } = await asked();
  clients[0]?.detach();
  expect(session.openPermissions.size).toBe(1);
  clients[1]?.detach();
  clients[1]?.detach();
  await session.idle();
  expect(session.conversation.turns[0]?.result?.output).toBe("deny by rule");
});

test("if two clients answer at once, the first counts, and the second gets an error", async () => {
  const { session, id } = await asked();
  const answers = await Promise.allSettled([session.answer(id, "always", "phone"), session.answer(id, "deny")]);
  expect(answers.map((answer) => answer.status)).toEqual(["fulfilled", "rejected"]);
  await session.idle();
  expect(session.conversation.turns[0]?.result?.output).toBe("always by client");
});

test("an answer after the session was loaded again is too late, and an unknown question is not found", async () => {
  const { sessions, session, id } = await asked();
  await session.answer(id, "allow");
  await session.idle();
  await sessions.close(session.id);
  const again = await sessions.load(session.id);
  await expect(again.answer(id, "deny")).rejects.toMatchObject({ code: "already_resolved" });
  await expect(again.answer("perm-00000000", "deny")).rejects.toMatchObject({ code: "permission_not_found" });
});

test("the request and its answer are records, with the name of the person", async () => {
  const { sessions, session, id } = await asked();
  await session.answer(id, "allow", "console");
  await session.idle();
  const records = await recordsOf(sessions, session.id);
  expect(records.find((record) => record.type === "permission_request")?.metadata).toMatchObject({
    permission_id: id,
    tool: "Bash",
    options: ["allow", "always", "deny", "never"],
  });
  expect(records.find((record) => record.type === "permission_resolved")).toMatchObject({
    origin: "console",
    metadata: { permission_id: id, decision: "allow", by: "client" },
  });
});

const DAY_S = 24 * 3600;

test.each([30 * DAY_S, Number.MAX_VALUE])("a time-out of %d s waits", async (permissionTimeout) => {
  const { session, id } = await asked({ permissionTimeout });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect([...session.openPermissions.keys()]).toEqual([id]);
  await session.answer(id, "allow");
  await session.idle();
  expect(session.conversation.turns[0]?.result?.output).toBe("allow by client");
});

const NOT_TIMES = [-1, Number.NaN, Number.POSITIVE_INFINITY, true, "5"] as number[];

test.each(NOT_TIMES)("a time-out of %s is refused when it is set, and so is a time to live", (value) => {
  const refused = (name: string) =>
    expect.objectContaining({ code: "invalid_setting", message: expect.stringContaining(`${name} takes a finite`) });
  expect(() => makeSessions(asking, { permissionTimeout: value })).toThrow(refused("permissionTimeout"));
  expect(() => makeSessions(asking, { ttl: value })).toThrow(refused("ttl"));
});

test("closing the session denies, and the turn ends as cancelled", async () => {
  const { sessions, session } = await asked();
  await sessions.close(session.id);
  expect(session.conversation.turns[0]?.result?.cancelled).toBe(true);
});

test("nobody is asked about a call whose turn ended while its diff was read", async () => {
  let goOn = () => {};
  const read = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const answers: unknown[] = [];
  const leaving: Agent = async function* (_turn, { ask }) {
    const content = async () => read.then(() => []);
    void ask({ call_id: "c", tool: "Edit", args: {}, risk: "low", content }).then((answer) => answers.push(answer));
    yield { type: "text_delta", metadata: { text: "done" } };
  };
  const sessions = makeSessions(leaving);
  const session = await sessions.create({ cwd: "/" });
  sessions.attach(session.id, { approves: true });
  session.prompt({ text: "go" });
  await session.idle();
  goOn();
  await until(() => answers.length > 0);
  expect([answers, session.openPermissions.size]).toEqual([[{ decision: "deny", by: "cancel" }], 0]);
  expect((await recordsOf(sessions, session.id)).at(-1)?.type).toBe("agent_result");
});

test("a question that a killed process left after the end of its turn is denied when the session is loaded", async () => {
  const store = createMemoryStore<SessionEvent, Summary>();
  const sessions = makeSessions(speaking("hello"), { store });
  const { id } = await sessions.create({ cwd: "/" });
  await runPrompt(sessions, id, "go");
  await sessions.close(id);
  const killed = await store.open(id);
  const call = { call_id: "c", tool: "Bash", args: {}, risk: "low", shown: "" } as const;
  killed.append([
    { type: "permission_request", turn: 0, metadata: { ...call, options: [], content: [], permission_id: "perm-1" } },
    {
      type: "question_asked",
      turn: 0,
      metadata: { call_id: "c", question: "?", options: [], question_id: "question-1" },
    },
  ]);
  await killed.close();
  const { openPermissions, openQuestions } = await sessions.load(id);
  expect([openPermissions.size, openQuestions.size]).toEqual([0, 0]);
  expect((await recordsOf(sessions, id)).slice(-2)).toMatchObject([
    {
      type: "permission_resolved",
      turn: null,
      metadata: { permission_id: "perm-1", decision: "deny", by: "eviction" },
    },
    { type: "question_answered", turn: null, metadata: { question_id: "question-1", answer: null, by: "eviction" } },
  ]);
});
