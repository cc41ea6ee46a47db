import { expect, test } from "vitest";
import { beginningOf } from "../src/define/text.js";
import { birthOf, readSummary, SUMMARY_VERSION, unheld } from "../src/summary.js";

const ID = "otter-20260425T120300-aaaa1111";

test("a summary of any program gets all fields, also from names that other programs use", () => {
  const stored = {
    run_id: "another",
    started_at: "2026-04-25T12:03:00Z",
    model: "glm-5.1",
    prompt: "hi",
    prompt_tokens: "12",
    tokens_output: 3.7,
    cached_tokens: 4,
    tool_calls: 2,
    permission_mode: "ask",
    success: true,
  };
  expect(readSummary(ID, stored)).toEqual({
    v: SUMMARY_VERSION,
    session_id: ID,
    run_id: ID,
    started_at: "2026-04-25T12:03:00Z",
    ended_at: null,
    model: "glm-5.1",
    prompt: "hi",
    cwd: "",
    directories: [],
    agent: "otter",
    steps: 0,
    tool_calls_total: 2,
    turns: 1,
    success: true,
    cost_usd: 0,
    total_tokens: 0,
    input_tokens: 12,
    output_tokens: 3,
    cache_tokens: 4,
    error: null,
    title: null,
    state: "idle",
    permission_mode: "ask",
  });
});

test.each<[object]>([
  [{ v: 2, session_id: ID, cwd: "/", prompt: "x".repeat(1e6), turns: 1, state: "idle" }],
  [
    {
      v: 1,
      session_id: ID,
      cwd: "/",
      prompt: "x".repeat(1e6),
      turns: 1,
      title: "y".repeat(1e6),
      error: "z".repeat(1e6),
    },
  ],
  [
    {
      directories: Array.from({ length: 1e5 }, () => "/a"),
      started_at: "never",
      state: "asleep",
      bounds: [],
      turns: {},
    },
  ],
  ...["parent_id", "permission_mode", "sandbox", "approval", "success", "hostile"].map((name): [object] => [
    { ...readSummary(ID, {}), [name]: "x".repeat(1e6) },
  ]),
  [{ ...readSummary(ID, {}), started_at: `1 Jan 2026 (${"x".repeat(1e6)})` }],
  [{ title: 7, prompt: null, cwd: [], directories: "no", cost_usd: "NaN", bounds: { maxSteps: "x", allowedTools: 1 } }],
])("a hostile stored summary is read as a small valid one %#", (stored) => {
  const summary = readSummary(ID, stored);
  expect(JSON.stringify(summary).length).toBeLessThan(8192);
  expect(summary).toMatchObject({ v: SUMMARY_VERSION, session_id: ID, state: "idle" });
  expect(readSummary(ID, summary)).toEqual(summary);
});

test("a summary of this version is returned unchanged, but its bounds are validated", () => {
  const summary = readSummary(ID, { cwd: "/work" });
  expect(readSummary(ID, summary)).toBe(summary);
  const bounds = { agent: "plan", readOnly: true, options: { effort: "high", fast: false }, maxSteps: null };
  expect(readSummary(ID, { ...summary, bounds }).bounds).toEqual(bounds);
  const hostile = { agent: {}, autoApproveWrites: "yes", options: { effort: 7 }, unknown: 1 };
  expect(readSummary(ID, { ...summary, bounds: hostile }).bounds).toEqual({ options: {} });
});

test("an unreadable limit is left out, because null means unlimited", () => {
  const bounds = { maxCostUsd: "much", maxSteps: {}, allowedTools: "Read" };
  expect(readSummary(ID, { v: 2, bounds }).bounds).toEqual({});
  const none = { maxCostUsd: null, maxSteps: null, allowedTools: null };
  expect(readSummary(ID, { v: 2, bounds: none }).bounds).toEqual(none);
});

test("the birth of a session has the fields that its log does not have", () => {
  const summary = readSummary(ID, { cwd: "/work", model: "m", bounds: { maxSteps: 3 }, parent_id: "p", steps: 9 });
  expect(birthOf(summary)).toEqual({
    started_at: null,
    model: "m",
    cwd: "/work",
    directories: [],
    agent: "otter",
    parent_id: "p",
    bounds: { maxSteps: 3 },
  });
});

test("a session that no process holds is idle", () => {
  const idle = readSummary(ID, {});
  expect(unheld(idle)).toBe(idle);
  expect(unheld({ ...idle, state: "waiting" })).toEqual(idle);
});

test("the beginning of a text has only whole characters", () => {
  expect(beginningOf("short", 200)).toBe("short");
  expect(beginningOf(`${"x".repeat(199)}🦦`, 200)).toBe("x".repeat(199));
});
