import { expect, test } from "vitest";
import type { Agent } from "../src/index.js";
import { makeSessions, runPrompt, typesOf, untilHeard } from "./fixture.js";

/** Thinks and speaks in two words each, calls a tool between. */
const chatty: Agent = async function* ({ prompt }) {
  yield { type: "step_start", metadata: { step: 0 } };
  for (const text of ["let me ", "think"]) yield { type: "thought_delta", metadata: { text } };
  for (const text of [prompt.text, "!"]) yield { type: "text_delta", metadata: { text } };
  const call = { call_id: "c", tool: "Read", args: {}, kind: "read", title: "Read", locations: [] } as const;
  yield { type: "tool_call", metadata: { ...call, locations: [] } };
  yield { type: "tool_result", metadata: { call_id: "c", success: true, output: "", duration_ms: 1 } };
  for (const text of ["all ", "done"]) yield { type: "text_delta", metadata: { text } };
  yield { type: "step_end", metadata: { step: 0 } };
};

async function visible(run: (say: (text: string) => Promise<unknown>) => Promise<unknown>, agent = chatty) {
  const sessions = makeSessions(agent, { coalesce: false });
  const session = await sessions.create({ cwd: "/" });
  await run((text) => runPrompt(sessions, session.id, text));
  const records = [];
  for await (const record of (await sessions.loadVisible(session.id)).visible) records.push(record);
  return { records, session };
}

test("the deltas of one block are one record, with the number of the last delta", async () => {
  const { records } = await visible((say) => say("hello"));
  const texts = records.flatMap((record) =>
    record.type === "text_delta" || record.type === "thought_delta" ? [record.metadata.text] : [],
  );
  expect(texts).toEqual(["let me think", "hello!", "all done"]);
  const numbers = records.map((record) => record.seq);
  expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
});

test("undone and cleared turns are left out, and redone turns are in", async () => {
  const said = async (...texts: string[]) => {
    const { records } = await visible(async (say) => {
      for (const text of texts) await say(text);
    });
    return records.flatMap((record) => (record.type === "user_message" ? [record.metadata.text] : []));
  };
  expect(await said("one", "two", "/undo")).toEqual(["one", "/undo"]);
  expect(await said("one", "two", "/undo", "/redo")).toEqual(["one", "two", "/undo", "/redo"]);
  expect(await said("one", "/clear", "two")).toEqual(["two"]);
});

test("a block of megabytes comes in parts", async () => {
  const { records } = await visible(
    (say) => say("go"),
    async function* () {
      yield { type: "step_start", metadata: { step: 0 } };
      for (let i = 0; i < 100; i++) yield { type: "text_delta", metadata: { text: "x".repeat(10_000) } };
    },
  );
  const parts = records.flatMap((record) => (record.type === "text_delta" ? [record.metadata.text.length] : []));
  expect(Math.max(...parts)).toBeLessThanOrEqual(128 * 1024);
  expect(parts.reduce((sum, length) => sum + length, 0)).toBe(1_000_000);
  expect(typesOf(records).at(-1)).toBe("agent_result");
});

test("streamed text comes once, also if the next prompt came in the middle of it", async () => {
  let goOn = () => {};
  const asked = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const sessions = makeSessions(async function* () {
    yield { type: "step_start", metadata: { step: 0 } };
    yield { type: "text_delta", metadata: { text: "said" } };
    await asked;
    yield { type: "step_end", metadata: { step: 0 } };
  });
  const session = await sessions.create({ cwd: "/" });
  session.prompt({ text: "one" });
  await untilHeard(session);
  session.prompt({ text: "two" });
  goOn();
  await session.idle();
  const texts = [];
  for await (const record of (await sessions.loadVisible(session.id)).visible)
    if (record.type === "text_delta") texts.push([record.turn, record.metadata.text]);
  expect(texts).toEqual([
    [0, "said"],
    [1, "said"],
  ]);
});
