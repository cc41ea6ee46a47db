import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionEvent } from "@chimera/acp-schema/events";
import { createFileStore } from "@chimera/event-store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { costRollup, listRuns, parseLimit, parseSince, stats } from "../src/index.js";
import { NOW, type Summaries, storeOf } from "./fixture.js";

const SUMMARIES: Summaries = {
  "otter-20260425T120300-aaaa1111": {
    started_at: "2026-04-25T12:03:00Z",
    ended_at: "2026-04-25T12:03:30Z",
    model: "glm-5.1:cloud",
    prompt: "do the thing",
    success: true,
    cost_usd: 0.07,
    steps: 4,
    tool_calls_total: 3,
    total_tokens: 1200,
    input_tokens: 800,
    output_tokens: 350,
    cache_tokens: 50,
  },
  "mink-20260424T120000-bbbb2222": {
    started_at: "2026-04-24T12:00:00Z",
    model: "glm-5.1:cloud",
    success: false,
    cost_usd: 0.03,
    tokens_total: 600,
  },
  "ferret-20260426T120000-cccc3333": {
    started_at: "2026-04-26T12:00:00Z",
    model: "claude-sonnet-4-6",
    success: true,
    cost_usd: 0.12,
    total_tokens: 2000,
  },
};

describe("listRuns", () => {
  it("lists the runs of all programs, newest first, in the documented form", async () => {
    const list = await listRuns(await storeOf(SUMMARIES), { now: NOW });
    expect(list.total_runs).toBe(3);
    expect(list.runs.map((run) => run.source)).toEqual(["ferret", "otter", "mink"]);
    expect(list.runs[1]).toEqual({
      run_id: "otter-20260425T120300-aaaa1111",
      started_at: "2026-04-25T12:03:00Z",
      ended_at: "2026-04-25T12:03:30Z",
      model: "glm-5.1:cloud",
      prompt: "do the thing",
      success: true,
      cost_usd: 0.07,
      steps: 4,
      tool_calls: 3,
      source: "otter",
    });
  });

  it("limits after the filters, and zero or less means all", async () => {
    const store = await storeOf(SUMMARIES);
    const ids = async (query: object) => (await listRuns(store, { now: NOW, ...query })).runs.map((run) => run.source);
    expect(await ids({ model: "GLM", limit: 1 })).toEqual(["otter"]);
    expect(await ids({ limit: 2 })).toEqual(["ferret", "otter"]);
    expect(await ids({ limit: 0 })).toHaveLength(3);
    expect(await ids({ limit: -5 })).toHaveLength(3);
    expect(await ids({ model: " All " })).toHaveLength(3);
    expect(await ids({ model: "" })).toHaveLength(3);
    expect(await ids({ model: "sonnet" })).toEqual(["ferret"]);
  });

  it("lists the runs of all programs, or of those that the query names", async () => {
    const badger = { started_at: "2026-04-27T12:00:00Z", cost_usd: 9 };
    const store = await storeOf({ ...SUMMARIES, "badger-20260427T120000-dddd4444": badger, "my-notes": badger });
    const sources = async (query: object) =>
      (await listRuns(store, { now: NOW, ...query })).runs.map((run) => run.source).sort();
    expect(await sources({})).toEqual(["badger", "ferret", "mink", "otter", "unknown"]);
    expect(await sources({ prefixes: ["badger", "otter"] })).toEqual(["badger", "otter"]);
  });

  it("fills the limit after many runs that the filters exclude", async () => {
    const many: Record<string, object> = {};
    for (let i = 0; i < 300; i++) {
      many[
        `otter-20260425T12${String(Math.floor(i / 60)).padStart(2, "0")}${String(i % 60).padStart(2, "0")}-00000000`
      ] = {
        model: i < 5 ? "rare" : "usual",
      };
    }
    const list = await listRuns(await storeOf(many), { now: NOW, model: "rare", limit: 3 });
    expect(list.runs.map((run) => run.run_id.slice(15, 21))).toEqual(["120004", "120003", "120002"]);
  });

  it("includes runs without a start time, and leaves out sessions without a prompt", async () => {
    const store = await storeOf({
      "otter-20200101T000000-aaaaaaaa": { started_at: "whenever", turns: 1 },
      "otter-20200101T000001-aaaaaaaa": { started_at: 12, turns: 1 },
      "otter-20200101T000002-aaaaaaaa": { started_at: "2020-01-01T00:00:02Z", turns: 1 },
      "otter-20260429T235900-aaaaaaaa": { started_at: "2026-04-29T23:59:00Z", turns: 0 },
      "otter-20260429T235901-aaaaaaaa": { started_at: "2026-04-29T23:59:01Z", turns: 1 },
    });
    const { runs } = await listRuns(store, { now: NOW, since: "1h" });
    expect(runs.map((run) => run.run_id.slice(6, 21))).toEqual([
      "20260429T235901",
      "20200101T000001",
      "20200101T000000",
    ]);
  });
});

describe("costRollup", () => {
  it("has the documented shape and figures", async () => {
    const store = await storeOf({
      ...SUMMARIES,
      "otter-20260423T120000-eeee5555": { started_at: "2026-04-23T12:00:00Z", success: true, model: "" },
    });
    expect(await costRollup(store, { now: NOW })).toEqual({
      total_runs: 4,
      total_cost: 0.22,
      total_tokens: 3800,
      by_model: {
        "claude-sonnet-4-6": { runs: 1, cost_usd: 0.12, tokens: 2000 },
        "glm-5.1:cloud": { runs: 2, cost_usd: 0.1, tokens: 1800 },
        "(unknown)": { runs: 1, cost_usd: 0, tokens: 0 },
      },
      by_run: [
        expect.objectContaining({ source: "ferret", cost_usd: 0.12 }),
        {
          run_id: "otter-20260425T120300-aaaa1111",
          started_at: "2026-04-25T12:03:00Z",
          model: "glm-5.1:cloud",
          cost_usd: 0.07,
          total_tokens: 1200,
          input_tokens: 800,
          output_tokens: 350,
          cache_tokens: 50,
          success: true,
          steps: 4,
          source: "otter",
        },
        expect.objectContaining({ source: "mink", total_tokens: 600 }),
        expect.objectContaining({ cost_usd: 0, model: "" }),
      ],
      totals: {
        runs: 4,
        successful_runs: 3,
        failed_runs: 1,
        cost_usd: 0.22,
        tokens: 3800,
        input_tokens: 800,
        output_tokens: 350,
        cache_tokens: 50,
        avg_cost_usd: 0.055,
        p50_cost_usd: 0.05,
        p95_cost_usd: 0.12,
      },
      filters: { since: null, model: null },
    });
  });

  it("is all zeros without runs, and shows its filters", async () => {
    const rollup = await costRollup(await storeOf({}), { now: NOW, since: "7d", model: "Glm" });
    expect(rollup.totals).toMatchObject({ runs: 0, avg_cost_usd: 0, p50_cost_usd: 0, p95_cost_usd: 0 });
    expect(rollup.filters).toEqual({ since: "7d", model: "Glm" });
  });

  it("takes p95 at the nearest rank, halves rounded to even", async () => {
    const p95 = async (count: number) => {
      const runs: Record<string, object> = {};
      for (let i = 1; i <= count; i++)
        runs[`otter-20260425T1200${String(i).padStart(2, "0")}-00000000`] = { cost_usd: i };
      return (await costRollup(await storeOf(runs), { now: NOW })).totals.p95_cost_usd;
    };
    // 0.95 n: 0.95, 1.9, 9.5 (to 10), 28.5 (to 28)
    expect([await p95(1), await p95(2), await p95(10), await p95(30)]).toEqual([1, 2, 10, 28]);
  });

  it("reads every alias of a token field, and survives odd values", async () => {
    const store = await storeOf({
      "mink-20260425T120001-00000000": {
        total_tokens: "12",
        prompt_tokens: 3.9,
        completion_tokens: 4,
        cached_tokens: 5,
      },
      "mink-20260425T120002-00000000": { total_tokens: "x", tokens_total: 7, tokens_input: 1, tokens_output: 2 },
      "mink-20260425T120003-00000000": { input_tokens: null, cache_read_input_tokens: 9, cost_usd: "0.5" },
      "mink-20260425T120004-00000000": {
        cache_read_tokens: 8,
        cost_usd: Number.NaN,
        model: 5,
        prompt: [],
        success: "yes",
      },
      "mink-20260425T120005-00000000": { cost_usd: {}, total_tokens: [], steps: true, model: "__proto__" },
    });
    const { by_run, by_model, totals } = await costRollup(store, { now: NOW });
    expect(by_run.map((row) => [row.total_tokens, row.input_tokens, row.output_tokens, row.cache_tokens])).toEqual([
      [0, 0, 0, 0],
      [0, 0, 0, 8],
      [0, 0, 0, 9],
      [7, 1, 2, 0],
      [12, 3, 4, 5],
    ]);
    expect(totals).toMatchObject({ cost_usd: 0.5, successful_runs: 0, failed_runs: 5 });
    expect(Object.keys(by_model)).toEqual(["__proto__", "(unknown)"]);
  });
});

describe("stats", () => {
  it("has the documented keys, in order", async () => {
    const report = await stats(await storeOf(SUMMARIES), { now: NOW, since: "2026-04-25" });
    expect(Object.keys(report)).toEqual(Object.keys(report).sort());
    expect(report).toMatchObject({
      total_runs: 2,
      successful_runs: 2,
      failed_runs: 0,
      total_cost_usd: 0.19,
      total_tokens: 3200,
      total_input_tokens: 800,
      total_output_tokens: 350,
      total_cache_tokens: 50,
      since: "2026-04-25",
      model_filter: null,
    });
  });
});

describe("parseSince", () => {
  const at = (text: string) => new Date(parseSince(text, NOW) ?? Number.NaN).toISOString();

  it.each([
    ["7d", "2026-04-23T00:00:00.000Z"],
    ["24H", "2026-04-29T00:00:00.000Z"],
    [" 30 m ", "2026-04-29T23:30:00.000Z"],
    ["90s", "2026-04-29T23:58:30.000Z"],
    ["1w", "2026-04-23T00:00:00.000Z"],
    ["2026-04-20", "2026-04-20T00:00:00.000Z"],
    ["2026-04-20T12:00", "2026-04-20T12:00:00.000Z"],
    ["2026-04-20 12:00:30", "2026-04-20T12:00:30.000Z"],
    ["2026-04-20T12:00:30.250Z", "2026-04-20T12:00:30.250Z"],
    ["2026-04-20T12:00:00+02:00", "2026-04-20T10:00:00.000Z"],
    ["2026-04-20T12:00:00-0530", "2026-04-20T17:30:00.000Z"],
    ["2026-04-20T12:00:00+02", "2026-04-20T10:00:00.000Z"],
  ])("reads %j", (text, expected) => {
    expect(at(text)).toBe(expected);
  });

  it("returns null for a blank text", () => {
    expect([parseSince("", NOW), parseSince("  ", NOW), parseSince(null, NOW), parseSince(undefined, NOW)]).toEqual(
      Array(4).fill(null),
    );
  });

  it.each([
    "yesterday",
    "7",
    "d",
    "-7d",
    "7y",
    "1.5d",
    "2026-02-30",
    "2026-13-01",
    "2026-04-20T25:00",
    "04/20/2026",
    "0",
    "7d7d",
    "٧d",
  ])("refuses %j", (text) => {
    expect(() => parseSince(text, NOW)).toThrow(expect.objectContaining({ code: "invalid_query" }));
  });

  it("reads limits", () => {
    expect([parseLimit("5"), parseLimit(" 7 "), parseLimit("0"), parseLimit("-3"), parseLimit(undefined)]).toEqual([
      5,
      7,
      null,
      null,
      null,
    ]);
    for (const text of ["x", "1.5", "1e3", "0x10", "5 6"]) {
      expect(() => parseLimit(text)).toThrow(expect.objectContaining({ code: "invalid_query" }));
    }
  });
});

describe("with directories of other programs", () => {
  let root: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "reports-"));
    const write = async (id: string, summary: string | null) => {
      await mkdir(join(root, "eventlog", id), { recursive: true });
      if (summary !== null) await writeFile(join(root, "eventlog", id, "summary.json"), summary);
    };
    await write("mink-20260424T120000-bbbb2222", '{"run_id":"mink-20260424T120000-bbbb2222","cost_usd":0.5}');
    await write("otter-20260424T120000-bbbb2222", null);
    await write("otter-20260424T120001-bbbb2222", "{ not json");
    await write("otter-20260424T120002-bbbb2222", "[1]");
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  it("leaves out directories without a readable summary, and lists the others", async () => {
    const store = createFileStore<SessionEvent, object>({ root });
    const { total_runs, total_cost } = await costRollup(store, { now: NOW });
    expect([total_runs, total_cost]).toEqual([1, 0.5]);
    await store.close();
  });

  it("is empty without any directory", async () => {
    const store = createFileStore<SessionEvent, object>({ root: join(root, "absent") });
    expect(await listRuns(store, { now: NOW })).toEqual({ total_runs: 0, runs: [], next: null });
    await store.close();
  });
});
