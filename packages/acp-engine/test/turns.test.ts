import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RecordOf } from "@chimera/acp-schema/events";
import { expect, test, vi } from "vitest";
import { limits } from "../src/limits.js";
import { createMapper } from "../src/map-update.js";
import { firstQuestion, open, place, prompts, records, said, turn } from "./engine.js";

test("every kind of update is recorded, in the order the agent sent them", async () => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  const orders = [
    "say hello",
    "think hm",
    "image",
    "plan",
    "commands",
    "mode plan",
    "title A title",
    "notice careful",
    "unknown",
  ];
  const log = await turn(session, sessions, orders.join("\n"));
  const types = log.map(({ type }) => type);
  for (const type of [
    "text_delta",
    "thought_delta",
    "content",
    "plan",
    "commands_changed",
    "title_changed",
    "notice",
    "vendor",
  ])
    expect(types).toContain(type);
  const { facts } = session.conversation;
  expect(facts.engineCommands).toEqual([{ name: "review", description: "Reviews", hint: "what" }]);
  expect(facts.engineOptions.map(({ id, value }) => [id, value])).toEqual([
    ["mode", "plan"],
    ["thinking", "low"],
  ]);
  expect(facts.title).toBe("A title");
  expect(facts.usage).toMatchObject({ input: 7, output: 3 });
  expect(log.find(({ type }) => type === "vendor")?.metadata).toEqual({
    name: "hologram",
    data: { sessionUpdate: "hologram", depth: 3 },
  });
  expect(log.at(-1)).toMatchObject({ type: "agent_result", metadata: { success: true, output: "hello", steps: 1 } });
});

test("an early announcement, late input, growing text and updates after the end are one call", async () => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  const log = (await turn(session, sessions, "late")).filter(({ type }) => type.startsWith("tool_"));
  expect(log.map(({ type }) => type)).toEqual([
    "tool_call",
    "tool_update",
    "tool_update",
    "tool_progress",
    "tool_progress",
    "tool_result",
  ]);
  expect(log[1]!.metadata).toMatchObject({ args: { command: "ls" }, kind: "execute" });
  expect(
    log.filter(({ type }) => type === "tool_progress").map(({ metadata }) => (metadata as { chunk: string }).chunk),
  ).toEqual(["a", "\nb"]);
  expect(log.at(-1)!.metadata).toMatchObject({ success: true, output: "a\nb" });
});

test("calls that reuse an id are different calls, and one that never ends fails with its turn", async () => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  const log = await turn(session, sessions, "again\ndangling");
  const calls = log.filter(({ type }) => type === "tool_call") as RecordOf<"tool_call">[];
  expect(new Set(calls.map(({ metadata }) => metadata.call_id)).size).toBe(3);
  const results = log.filter(({ type }) => type === "tool_result") as RecordOf<"tool_result">[];
  expect(results.map(({ metadata }) => metadata.success)).toEqual([true, true, false]);
});

test("a permission request with the id of a call that has ended is judged as the call it describes", async () => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  sessions.attach(session.id, { approves: true });
  session.prompt({ text: "reuse rm -rf build" });
  const asked = await vi.waitFor(() => {
    const [one] = session.openPermissions.values();
    if (!one) throw new Error("nothing was asked");
    return one;
  }, 10_000);
  expect(asked).toMatchObject({ tool: "Bash", args: { command: "rm -rf build" } });
  await session.answer(asked.permission_id, { choice: "no" });
  await session.idle();
  const log = await records(sessions, session.id);
  expect(said(log)).toBe('{"outcome":"selected","optionId":"no"}');
  const calls = log.filter((record) => record.type === "tool_call");
  expect(calls.map(({ metadata }) => metadata.tool)).toEqual(["Read", "Bash"]);
  expect(asked.call_id).toBe(calls[1]!.metadata.call_id);
});

test("repeated output of a command is kept", async () => {
  const at = place();
  const { sessions } = open(at);
  const log = await turn(await sessions.create({ cwd: at.cwd }), sessions, "progress ...");
  const chunks = log.map((record) => (record.type === "tool_progress" ? record.metadata.chunk : ""));
  expect(chunks.join("")).toBe("...");
  expect(log.find(({ type }) => type === "tool_result")?.metadata).toMatchObject({ output: "..." });
});

test.each([
  ["grows", (line: number) => "a".repeat(limits.outputChars - 1500) + "b".repeat(1000 * line), 2],
  ["is replaced", (line: number) => String(line).repeat(limits.outputChars), 0],
])("output that the agent sends again and again while it %s is shown up to the limit", (_how, outputAt, lastShown) => {
  const mapper = createMapper(Date.now);
  const shown = Array.from({ length: 8 }, (_, line) => outputAt(line)).flatMap((text) =>
    mapper.of({
      sessionUpdate: "tool_call_update",
      toolCallId: "make",
      content: [{ type: "content", content: { type: "text", text } }],
    }),
  );
  const chunks = shown.map((event) => (event.type === "tool_progress" ? event.metadata.chunk : ""));
  expect(chunks.join("")).toBe(outputAt(lastShown).slice(0, limits.outputChars));
  const [end] = mapper.of({ sessionUpdate: "tool_call_update", toolCallId: "make", status: "completed" });
  expect(end?.metadata).toMatchObject({ output: outputAt(7).slice(0, limits.outputChars) });
});

test("each call has an id of its own, also after more calls than are remembered", () => {
  const mapper = createMapper(Date.now);
  const ids = Array.from({ length: limits.calls }, (_, i) => String(i));
  const events = [...ids, "0", "1", "new", "new", "new"].flatMap((toolCallId) => [
    ...mapper.of({ sessionUpdate: "tool_call", toolCallId, title: "call" }),
    ...mapper.of({ sessionUpdate: "tool_call_update", toolCallId, status: "completed" }),
  ]);
  const announced = events.flatMap((event) => (event.type === "tool_call" ? [event.metadata.call_id] : []));
  expect(new Set(announced).size).toBe(limits.calls + 5);
});

test("a permission request offers the agent's own options, and the agent gets the chosen one", async () => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  sessions.attach(session.id, { approves: true });
  session.prompt({ text: "permission a.txt" });
  const asked = await vi.waitFor(() => {
    const [one] = session.openPermissions.values();
    if (!one) throw new Error("nothing was asked");
    return one;
  }, 10_000);
  expect(asked.choices?.map(({ id }) => id)).toEqual(["once", "project", "user", "no"]);
  await expect(session.answer(asked.permission_id, { choice: "nonsense" })).rejects.toThrow(/has no answer/);
  await session.answer(asked.permission_id, { choice: "user" });
  await session.idle();
  const log = await records(sessions, session.id);
  expect(said(log)).toBe('{"outcome":"selected","optionId":"user"}');
  expect(log.find(({ type }) => type === "permission_resolved")?.metadata).toMatchObject({
    decision: "always",
    choice: "user",
  });
});

test.each([
  ["read-only", '{"outcome":"selected","optionId":"no"}'],
  ["auto", '{"outcome":"selected","optionId":"once"}'],
] as const)("mode %s answers in place of the person", async (mode, outcome) => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  await session.set({ mode });
  expect(said(await turn(session, sessions, "permission a.txt"))).toBe(outcome);
});

test("a form is asked field by field, and the agent gets the answers", async () => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  sessions.attach(session.id, { approves: true });
  session.prompt({ text: "form" });
  const seen: string[] = [];
  for (const answer of ["blue", "many", "3", null]) {
    const asked = await firstQuestion(session);
    seen.push(`${asked.question} [${asked.options.map(({ name }) => name)}]`);
    await session.answerQuestion(asked.question_id, answer);
  }
  await session.idle();
  expect(seen).toEqual([
    "What shall it be?\nColour [red,blue]",
    "count []",
    '"many" does not fit. count []',
    "sure [yes,no]",
  ]);
  const log = await records(sessions, session.id);
  expect(said(log)).toBe('{"action":"accept","content":{"colour":"b","count":3}}');
});

test("a program that closed its connection is ended, and the next turn starts another", async () => {
  const at = place();
  const { sessions } = open(at, { can: "resume,load,close,stays" });
  const session = await sessions.create({ cwd: at.cwd });
  const log = await turn(session, sessions, "hangup");
  expect(log.at(-1)?.metadata).toMatchObject({ success: false, error: "scripted ended (it closed its connection)" });
  expect(said(await turn(session, sessions, "say hello again"))).toContain("hello again");
});

test("a form is declined when no client can answer", async () => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  expect(said(await turn(session, sessions, "form"))).toBe('{"action":"decline"}');
});

test("two messages of the agent in a row stay apart", async () => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  await turn(session, sessions, "messages");
  const [, reply] = session.conversation.messages(1);
  expect(reply).toMatchObject({ parts: [{ text: "A warning." }, { text: "The answer." }] });
});

test("a refusal is sent as cancelled when the agent offers no option to refuse", async () => {
  const at = place();
  const { sessions } = open(at, { env: { SCRIPTED_NO_REJECT: "1" } });
  const session = await sessions.create({ cwd: at.cwd });
  expect(said(await turn(session, sessions, "permission a.txt"))).toBe('{"outcome":"cancelled"}');
});

test("undo reverts the files that the agent wrote, and leaves a person's edit during the turn alone", async () => {
  const at = place();
  writeFileSync(join(at.cwd, "notes.txt"), "mine");
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  session.prompt({ text: "write a.txt written by the agent\nsleep 2500\nsay done" });
  await vi.waitFor(() => expect(existsSync(join(at.cwd, "a.txt"))).toBe(true), 10_000);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  writeFileSync(join(at.cwd, "notes.txt"), "mine, changed while it talked");
  await session.idle();
  const log = await records(sessions, session.id);
  expect(log.find(({ type }) => type === "notice")?.metadata).toMatchObject({
    text: expect.stringContaining("notes.txt"),
  });
  const { files } = await session.undo();
  expect(files.map(({ path }) => path)).toEqual([join(at.cwd, "a.txt")]);
  expect(existsSync(join(at.cwd, "a.txt"))).toBe(false);
  expect(readFileSync(join(at.cwd, "notes.txt"), "utf8")).toBe("mine, changed while it talked");
});

test("updates before the answer to session/new are recorded, also of two sessions that open at once", async () => {
  const at = place();
  const { sessions } = open(at, { can: "early" });
  const both = [await sessions.create({ cwd: at.cwd }), await sessions.create({ cwd: at.cwd })];
  await Promise.all(both.map((session) => turn(session, sessions, "say hello")));
  for (const { conversation } of both) expect(conversation.facts.engineCommands).toHaveLength(1);
});

test("updates between turns are recorded", async () => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  await turn(session, sessions, "after 2000");
  await vi.waitFor(() => expect(session.title).toBe("Said afterwards"), 15_000);
  const log = await records(sessions, session.id);
  expect(log.findLast(({ type }) => type === "title_changed")?.turn).toBeNull();
});

test("updates that come after the session was let go are recorded, and it goes on as it was", async () => {
  const at = place();
  const { sessions } = open(at, { hold: 0.1 });
  const session = await sessions.create({ cwd: at.cwd });
  await turn(session, sessions, "after 1500 plan");
  await vi.waitFor(() => expect(session.isLetGo).toBe(true), 10_000);
  expect(session.title).not.toBe("Said afterwards");
  await vi.waitFor(() => expect(session.title).toBe("Said afterwards"), 15_000);
  const options = () => session.conversation.facts.engineOptions;
  expect(options()).toContainEqual(expect.objectContaining({ id: "mode", value: "plan" }));
  expect(await sessions.load(session.id)).toBe(session);
  const types = (await records(sessions, session.id)).flatMap(({ type, turn }) => (turn === null ? [type] : []));
  expect(types).toEqual(["options_changed", "title_changed"]);
  expect(said(await turn(session, sessions, "recall"))).toBe("after 1500 plan");
});

test("after a cancel the agent takes the next prompt", async () => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  session.prompt({ text: "say one\nsleep 60000" });
  await vi.waitFor(async () => expect(said(await records(sessions, session.id))).toBe("one"), 10_000);
  expect(await session.cancel()).toBe(true);
  await session.idle();
  expect((await records(sessions, session.id)).at(-1)).toMatchObject({ type: "cancelled" });
  expect(said(await turn(session, sessions, "say two"))).toBe("two");
  expect(prompts(at)).toHaveLength(2);
});

test("a turn has the agent's stop reason, or its error", async () => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  const stopped = await turn(session, sessions, "stop");
  expect(stopped.find(({ type }) => type === "turn_end")?.metadata).toEqual({ stop_reason: "max_tokens" });
  const refused = await turn(session, sessions, "refuse");
  expect(refused.at(-1)).toMatchObject({ metadata: { success: false, error: "scripted: the model said no: quota" } });
});

test("the cost of each turn is counted once, although the agent counts its whole session", async () => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  await turn(session, sessions, "usage 0.25");
  await turn(session, sessions, "usage 0.40");
  expect(session.conversation.facts.usage).toMatchObject({ priced: true, used: 10, size: 100, input: 14 });
  expect(session.conversation.facts.usage!.total_usd).toBeCloseTo(0.4);
});

test("an option of the agent's own is set at once, and again after a restart", async () => {
  const at = place();
  const first = open(at);
  const session = await first.sessions.create({ cwd: at.cwd });
  await turn(session, first.sessions, "say hello");
  await session.set({ option: "engine:mode", value: "plan" });
  await vi.waitFor(() => expect(session.conversation.facts.engineOptions[0]?.value).toBe("plan"), 5000);
  expect(said(await turn(session, first.sessions, "recall"))).toBe("say hello|mode=plan");
  await first.close();

  const second = open(at);
  const again = await second.sessions.load(session.id);
  await again.set({ option: "engine:thinking", value: "high" });
  expect(said(await turn(again, second.sessions, "recall"))).toBe("say hello|mode=plan|recall|mode=plan|thinking=high");
  // The agent reports the second option before it answers.
  expect(again.conversation.facts.engineOptions.map(({ value }) => value)).toEqual(["plan", "high"]);
});

test("the agent gets only the environment that was configured", async () => {
  const at = place();
  const { sessions } = open(at, { env: { OPENAI_API_KEY: "x" } });
  const session = await sessions.create({ cwd: at.cwd });
  const names = said(await turn(session, sessions, "env")).split(",");
  expect(names).toEqual(["OPENAI_API_KEY", "PATH", "SCRIPTED_CAN", "SCRIPTED_STATE"]);
});

test("20,000 deltas arrive whole and in order", async () => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  const text = said(await turn(session, sessions, "flood 20000"));
  expect(text).toBe(Array.from({ length: 20_000 }, (_, i) => `${i} `).join(""));
});
