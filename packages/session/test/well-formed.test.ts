// Half of a surrogate pair anywhere in a line makes strict parsers refuse all of it, and with it a whole list of sessions.
import { type AgentEvent, isLost, type SessionEvent } from "@chimera/acp-schema/events";
import { expect, test } from "vitest";
import type { Agent } from "../src/index.js";
import { makeSessions, recordsOf, runPrompt, speaking } from "./fixture.js";

/** JSON text names a half by its escape, and whole characters by themselves. */
const HALF = /\\ud[89a-f]/;

/** The records and the state of a session with half a surrogate pair in one of its texts. */
async function seenOf(agent: Agent, text = "go"): Promise<string> {
  const sessions = makeSessions(agent);
  const { id } = await sessions.create({ cwd: "/" });
  await runPrompt(sessions, id, text);
  const session = sessions.find(id)!;
  return JSON.stringify([await recordsOf(sessions, id), session.summary(), session.conversation.turns, session.title]);
}

const textsOf = (records: readonly SessionEvent[]): readonly string[] =>
  records.flatMap((record) => (record.type === "text_delta" ? [record.metadata.text] : []));
const one = (event: AgentEvent): Agent =>
  async function* () {
    yield event;
    yield { type: "text_delta", metadata: { text: "done" } };
  };
const call = { call_id: "c1", kind: "other", locations: [] as { path: string }[] } as const;

test.each<[string, Agent, string?]>([
  ["a prompt", speaking("fine"), "a \ud800 b"],
  ["a prompt that is nothing else", speaking("fine"), "\udfff"],
  ["what is said", speaking("a \udc00 b")],
  ["the last of what is said", speaking("a \ud83d")],
  ["a thought", one({ type: "thought_delta", metadata: { text: "\ud83d" } })],
  ["a call's name", one({ type: "tool_call", metadata: { ...call, tool: "Ba\ud800sh", args: {}, title: "x" } })],
  ["a call's title", one({ type: "tool_call", metadata: { ...call, tool: "Bash", args: {}, title: "\ud800" } })],
  [
    "deep in a call",
    one({ type: "tool_call", metadata: { ...call, tool: "X", args: { a: [{ b: "\ud800" }] }, title: "" } }),
  ],
  ["a name in a call", one({ type: "tool_call", metadata: { ...call, tool: "X", args: { "\ud800": 1 }, title: "" } })],
])("half of a character in %s is on record as U+FFFD", async (_, agent, text) => {
  const seen = await seenOf(agent, text);
  expect(seen).not.toMatch(HALF);
  expect(seen).toContain("\ufffd");
});

test("titles and settings are well-formed too", async () => {
  const sessions = makeSessions(speaking("fine"));
  const { id } = await sessions.create({ cwd: "/" });
  const session = await sessions.load(id);
  await session.set([{ title: "t\ud800" }, { model: "m\udc00" }]);
  expect([session.title, session.settings.model]).toEqual(["t\ufffd", "m\ufffd"]);
  expect(JSON.stringify([await recordsOf(sessions, id), session.summary()])).not.toMatch(HALF);
});

test("a prompt that is sent again with its key is the same one", async () => {
  const sessions = makeSessions(speaking("fine"));
  const { id } = await sessions.create({ cwd: "/" });
  const session = await sessions.load(id);
  const prompt = { text: "a \ud800 b", key: "k" };
  expect(session.prompt(prompt).turn).toBe(session.prompt(prompt).turn);
});

test.each([true, false])("a character that comes in halves is whole again, coalesced or not (%j)", async (coalesce) => {
  const sessions = makeSessions(
    async function* () {
      for (const text of ["say \ud83d", "\ude00 and \ud83d", "\ude80", "\ud83d"]) {
        yield { type: "text_delta", metadata: { text } } satisfies AgentEvent;
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    { coalesce },
  );
  const { id } = await sessions.create({ cwd: "/" });
  const records = await runPrompt(sessions, id, "go");
  const texts = textsOf(records);
  expect(texts.join("")).toBe("say 😀 and 🚀\ufffd");
  expect(texts).not.toContain("");
  expect(records.at(-1)?.metadata).toMatchObject({ output: "say 😀 and 🚀\ufffd" });
});

test("text that always ends inside a character is recorded in every tick, in records of bounded length", async () => {
  const text = `a${"😀".repeat(60_000)}`;
  const held: number[] = [];
  let given = 0;
  const sessions = makeSessions(async function* () {
    while (given < text.length) {
      yield { type: "text_delta", metadata: { text: text.slice(given, given + 16) } } satisfies AgentEvent;
      given += 16;
      await new Promise((resolve) => setImmediate(resolve));
      held.push(Math.min(given, text.length) - recorded);
    }
  });
  const { id } = await sessions.create({ cwd: "/" });
  let recorded = 0;
  sessions.logs.follow(id, { from: 0 }, (batch) => {
    for (const text of textsOf(batch.flatMap((entry) => (isLost(entry) ? [] : [entry.event])))) recorded += text.length;
  });
  const texts = textsOf(await runPrompt(sessions, id, "go"));
  expect(texts.join("")).toBe(text);
  expect(Math.max(...held)).toBeLessThan(100);
});

test("long text that begins in the middle of a character fits the bound of a record too", async () => {
  const sessions = makeSessions(async function* () {
    for (const text of ["\ud83d", `\ude00${"😀".repeat(50_000)}\ud83d`, `\ude00${"x".repeat(66_000)}`])
      yield { type: "text_delta", metadata: { text } } satisfies AgentEvent;
  });
  const { id } = await sessions.create({ cwd: "/" });
  const texts = textsOf(await runPrompt(sessions, id, "go"));
  expect(texts.join("")).toBe(`${"😀".repeat(50_002)}${"x".repeat(66_000)}`);
  expect(Math.max(...texts.map(({ length }) => length))).toBeLessThanOrEqual(64 * 1024);
});

test("a call with arguments nested as deep as JSON allows is recorded", async () => {
  let args: object = { text: "\ud800" };
  for (let depth = 0; depth < 3000; depth++) args = { args };
  const seen = await seenOf(
    one({ type: "tool_call", metadata: { ...call, tool: "X", args, title: "" } } as AgentEvent),
  );
  expect(seen).toContain('{"text":"\ufffd"}');
});
