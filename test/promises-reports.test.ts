// Past runs listed and added up, transcripts rendered and shared.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { fileScope } from "./program.js";
import { scratchTree } from "./scratch.js";
import { type Server, startServer } from "./server.js";

const atEnd = fileScope();
const hour = 3_600_000;

/** A run of the past, as its program left it. */
function summaryOf(prefix: string, hoursAgo: number, facts: object) {
  const at = new Date(Date.now() - hoursAgo * hour);
  const stamp = at.toISOString().slice(0, 19).replaceAll(/[-:]/g, "");
  const id = `${prefix}-${stamp}-${hoursAgo.toString(16).padStart(8, "0")}`;
  const ended_at = new Date(at.getTime() + 30_000).toISOString();
  return {
    v: 1,
    session_id: id,
    run_id: id,
    agent: prefix,
    cwd: "/repo",
    directories: [],
    prompt: "do the thing",
    title: null,
    started_at: at.toISOString(),
    ended_at,
    success: true,
    error: null,
    steps: 4,
    turns: 1,
    tool_calls_total: 3,
    total_tokens: 1200,
    input_tokens: 800,
    output_tokens: 350,
    cache_tokens: 50,
    ...facts,
  };
}
const runs = [
  summaryOf("otter", 1, { model: "glm-5.1:cloud", cost_usd: 0.07 }),
  summaryOf("mink", 30, { model: "GLM-5.1:cloud", cost_usd: 0.03, success: false, error: "no" }),
  summaryOf("ferret", 60, { model: "claude-sonnet-4-6", cost_usd: 0.12 }),
];

/** The requests that the collector got, and its answer. */
const collected: { body: string; type: string | undefined }[] = [];
let collectorStatus = 200;
let server: Server;
let collector: string;
let id: string;
beforeAll(async () => {
  const http = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    collected.push({ body, type: request.headers["content-type"] });
    response.writeHead(collectorStatus, { "content-type": "application/json" }).end('{"id":"share-1"}');
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  atEnd(() => void http.close());
  collector = `http://127.0.0.1:${(http.address() as AddressInfo).port}/api/shares`;
  const files = Object.fromEntries(runs.map((run) => [`eventlog/${run.run_id}/summary.json`, run]));
  server = await startServer([], { OTTER_SHARE_URL: collector }, { atEnd, home: scratchTree(files, atEnd) });
  ({ id } = await server.run("list files and read README", { persist: true }));
});
const get = async (path: string) => (await server.ask(`GET ${path}`)).body;
const past = async (query: string) =>
  ((await get(`/runs?${query}`)).runs as { run_id: string; source: string }[]).filter((run) => run.run_id !== id);

describe("GET /runs", () => {
  test("every program's runs, newest first, with their source", async () => {
    const body = await get("/runs");
    expect(body.total_runs).toBe(4);
    expect(body.runs.map((run: { run_id: string }) => run.run_id)).toEqual([id, ...runs.map((run) => run.run_id)]);
    const [first] = runs;
    expect(body.runs[1]).toMatchObject({
      run_id: first?.run_id,
      started_at: expect.stringMatching(/Z$/),
      ended_at: expect.stringMatching(/Z$/),
      model: "glm-5.1:cloud",
      prompt: "do the thing",
      success: true,
      cost_usd: 0.07,
      steps: 4,
      tool_calls: 3,
      source: "otter",
    });
    expect((await past("")).map((run) => run.source)).toEqual(["otter", "mink", "ferret"]);
  });

  test("reads the journal again", async () => {
    const late = summaryOf("mink", 90, { model: "m", cost_usd: 0 });
    const dir = join(server.program.home, "eventlog", late.run_id);
    mkdirSync(dir);
    writeFileSync(join(dir, "summary.json"), JSON.stringify(late));
    expect((await past("")).map((run) => run.run_id)).toContain(late.run_id);
    rmSync(dir, { recursive: true });
    expect((await past("")).map((run) => run.run_id)).not.toContain(late.run_id);
  });

  const sinces: [string, number][] = [
    ["7d", 3],
    ["2d", 2],
    ["24h", 1],
    ["90m", 1],
    ["30m", 0],
    [new Date(Date.now() - 40 * hour).toISOString(), 2],
    [new Date(Date.now() - 40 * hour).toISOString().slice(0, 10), 2],
  ];
  test.each(sinces)("since=%s", async (since, atLeast) => {
    const found = await past(`since=${encodeURIComponent(since)}`);
    // A bare date begins at midnight, which may let one more in.
    expect(found.length - atLeast).toBeGreaterThanOrEqual(0);
    expect(found.length - atLeast).toBeLessThanOrEqual(since.length === 10 ? 1 : 0);
  });

  test.each([
    ["glm", 2],
    ["CLAUDE", 1],
    ["all", 3],
    ["nobody", 0],
  ])("model=%s", async (model, count) => {
    expect(await past(`model=${model}`)).toHaveLength(count);
  });

  test("caps the rows", async () => {
    expect((await get("/runs?limit=2")).runs).toHaveLength(2);
  });

  test.each(["/runs", "/runs/cost"])("%s refuses what it cannot read", async (path) => {
    for (const query of ["limit=many", "limit=1.5", "since=yesterday", "since=5x"]) {
      expect(await server.ask(`GET ${path}?${query}`), query).toMatchObject({
        status: 400,
        body: { error: "invalid_query", detail: expect.any(String) },
      });
    }
  });
});

describe("GET /runs/cost", () => {
  test("adds up by model, by run and in all", async () => {
    const body = await get("/runs/cost?since=7d");
    expect(body).toMatchObject({ total_runs: 4, total_tokens: 3600 });
    expect(body.total_cost).toBeCloseTo(0.22);
    expect(body.by_model["claude-sonnet-4-6"]).toEqual({ runs: 1, cost_usd: 0.12, tokens: 1200 });
    expect(body.by_run.find((run: { run_id: string }) => run.run_id === runs[0]?.run_id)).toMatchObject({
      started_at: expect.any(String),
      model: "glm-5.1:cloud",
      cost_usd: 0.07,
      total_tokens: 1200,
      input_tokens: 800,
      output_tokens: 350,
      cache_tokens: 50,
      success: true,
      steps: 4,
      source: "otter",
    });
    expect(body.totals).toMatchObject({
      runs: 4,
      successful_runs: 3,
      failed_runs: 1,
      tokens: 3600,
      input_tokens: 2400,
      output_tokens: 1050,
      cache_tokens: 150,
    });
    expect(body.totals.cost_usd).toBeCloseTo(0.22);
    expect(body.totals.avg_cost_usd).toBeCloseTo(0.055);
    expect(body.totals.p50_cost_usd).toBeCloseTo(0.05);
    expect(body.totals.p95_cost_usd).toBe(0.12);
  });

  test("the filters are echoed", async () => {
    expect((await get("/runs/cost")).filters).toEqual({ since: null, model: null });
    expect((await get("/runs/cost?since=7d&model=glm")).filters).toMatchObject({ model: "glm" });
    expect((await get("/runs/cost?since=7d&model=glm")).total_runs).toBe(2);
  });

  test("a journal that cannot be read is 500 runs_cost_failed", async () => {
    const broken = await startServer();
    const journal = join(broken.program.home, "eventlog");
    rmSync(journal, { recursive: true, force: true });
    writeFileSync(journal, "in the way");
    expect(await broken.ask("GET /runs/cost")).toMatchObject({
      status: 500,
      body: { error: "runs_cost_failed", detail: expect.any(String) },
    });
  });
});

describe("transcripts", () => {
  test.each([
    ["the default", "", "text/html", "<!doctype html"],
    ["the", "?format=html", "text/html", "<!doctype html"],
    ["the", "?format=md", "text/markdown", "list files and read README"],
    ["the", "?format=json", "application/json", "list files and read README"],
  ])("%s transcript%s is %s", async (_ids, query, type, text) => {
    const { status, headers, body } = await server.ask(`GET /sessions/${id}/transcript${query}`);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toContain(type);
    expect((typeof body === "string" ? body : JSON.stringify(body)).toLowerCase()).toContain(text.toLowerCase());
  });

  test("reading one sends no request, even when a share address is set", () => {
    expect(collected).toEqual([]);
  });
});

describe("share", () => {
  const share = (body: object) => server.ask(`POST /sessions/${id}/share`, { body });

  test("stdout gives the rendering back", async () => {
    for (const format of ["html", "md", "json"]) {
      const { status, body } = await share({ sink: "stdout", format });
      expect(status).toBe(200);
      expect(body).toMatchObject({ sink: "stdout", format, body: expect.stringContaining("README") });
    }
  });

  test("file answers the path it wrote", async () => {
    const { status, body } = await share({ sink: "file", format: "md" });
    expect([status, body.sink]).toEqual([200, "file"]);
    expect(readFileSync(body.path, "utf8")).toContain("list files and read README");
  });

  test("http posts to the address and answers what the collector said", async () => {
    collectorStatus = 200;
    const { status, body } = await share({ sink: "http", format: "json" });
    expect(status).toBe(200);
    expect(body).toMatchObject({ sink: "http", format: "json", status: 200 });
    expect(JSON.stringify(body)).toContain("share-1");
    expect(collected.at(-1)?.type).toContain("application/json");
    expect(JSON.stringify(JSON.parse(collected.at(-1)?.body ?? "null"))).toContain("list files and read README");
  });

  test("a collector that fails is 502", async () => {
    collectorStatus = 500;
    expect((await share({ sink: "http", format: "json" })).status).toBe(502);
  });

  test.each([{ sink: "fax" }, { sink: "stdout", format: "pdf" }, {}, { sink: "http", url: "not an address" }])(
    "%j is 400",
    async (body) => {
      expect((await share(body)).status).toBe(400);
    },
  );
});

test("every session of a process has the provider it was started with", async () => {
  const before = (await server.ask("GET /providers")).body.active;
  const other = await server.run("list files");
  expect((await server.ask(`GET /sessions/${other.id}`)).body.summary.model).toBe(before.model);
  expect((await server.ask("GET /providers")).body.active).toEqual(before);
});
