import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Agent } from "@chimera/acp-schema/agent";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createMemoryStore } from "@chimera/event-store";
import { createSessions } from "@chimera/session";
import { expect, onTestFinished, test } from "vitest";
import { METRICS } from "../src/index.js";
import { newSession, openStream, runTurn, type Served, serve } from "./fixture.js";

async function scrape(served: Served): Promise<string> {
  const { status, text, headers } = await served.call("GET", "/metrics");
  expect([status, headers.get("content-type")]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
  return text;
}

/** The value of a line, by its name and labels as they are written. */
function numberAt(text: string, series: string): number | null {
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  return line === undefined ? null : Number(line.slice(series.length + 1));
}

async function busy(served: Served): Promise<string> {
  const { id } = await newSession(served);
  await runTurn(served, id, "say hello");
  await runTurn(served, id, "write a.txt words");
  await runTurn(served, id, "fail");
  return id;
}

test("counts records of the log: turns by outcome, calls by tool, records by type", async () => {
  const served = await serve();
  await busy(served);
  await expect.poll(async () => numberAt(await scrape(served), 'otter_turns_total{outcome="failed"}')).toBe(1);
  const text = await scrape(served);
  expect(numberAt(text, 'otter_turns_total{outcome="success"}')).toBe(2);
  expect(numberAt(text, 'otter_tool_calls_total{tool="Write",outcome="success"}')).toBe(1);
  expect(numberAt(text, 'otter_records_total{type="user_message"}')).toBe(3);
  expect(numberAt(text, "otter_turn_seconds_count")).toBe(3);
  expect(numberAt(text, 'otter_turn_seconds_bucket{le="+Inf"}')).toBe(3);
  expect(numberAt(text, 'otter_build_info{version="1.2.3"}')).toBe(1);
  expect(numberAt(text, 'otter_sessions{state="idle"}')).toBe(1);
});

test("counts requests by route and status, and streams while they last; no line names a session", async () => {
  const served = await serve();
  const id = await busy(served);
  const stream = await openStream(served, `/session/${id}/events`);
  await served.call("GET", "/sessions", { token: "wrong" });
  const text = await scrape(served);
  expect(numberAt(text, 'otter_http_requests_total{route="POST /session",status="201"}')).toBe(1);
  expect(numberAt(text, 'otter_http_requests_total{route="GET /sessions",status="401"}')).toBe(1);
  expect(numberAt(text, "otter_streams")).toBe(1);
  expect(text).not.toContain(id);
  stream.leave();
  await expect.poll(async () => numberAt(await scrape(served), "otter_streams")).toBe(0);
});

test("invented names of clients cannot fill the memory", async () => {
  const served = await serve({ name: "otter" });
  for (let i = 0; i < 400; i++) served.app.request(`http://localhost/${i}`);
  expect((await scrape(served)).length).toBeLessThan(100_000);
});

test("tools beyond those that are counted by name are counted together, and a long name is cut", async () => {
  const call = (tool: string, at: number) => ({
    call_id: `c${at}`,
    tool,
    title: tool,
    kind: "other" as const,
    args: {},
    locations: [],
  });
  const agent: Agent = async function* () {
    for (let i = 0; i < 400; i++) {
      yield { type: "tool_call", metadata: call(i === 0 ? "x".repeat(5000) : `tool ${i}`, i) };
      const result = { call_id: `c${i}`, success: true, output: "", error: null, duration_ms: 1 };
      yield { type: "tool_result", metadata: result };
    }
  };
  const store = createMemoryStore<SessionEvent, Summary>();
  const sessions = createSessions({ agent, store, prefix: "otter", defaults: { model: "none" } });
  onTestFinished(() => sessions.shutdown());
  const served = await serve({ sessions });
  const session = await sessions.create({ cwd: "/" });
  await session.prompt({ text: "go" }).durable;
  await session.idle();
  const text = await scrape(served);
  expect(numberAt(text, `otter_tool_calls_total{tool="${"x".repeat(100)}",outcome="success"}`)).toBe(1);
  expect(numberAt(text, 'otter_tool_calls_total{tool="tool 7",outcome="success"}')).toBe(1);
  expect(numberAt(text, 'otter_tool_calls_total{tool="other",outcome="other"}')).toBe(100);
});

test("only the master token gets the metrics", async () => {
  const served = await serve();
  const { token } = await newSession(served);
  expect((await served.call("GET", "/metrics", { token: null })).status).toBe(401);
  expect((await served.call("GET", "/metrics", { token })).status).toBe(401);
});

test("the operator's guide lists exactly the metrics", () => {
  const guide = readFileSync(new URL("../../../docs/operate.md", import.meta.url), "utf8");
  const listed = [...guide.matchAll(/^\| `(?:otter_)?(\w+)(?:\{[\w,]+\})?` \| (counter|gauge|histogram) \|/gm)];
  expect(listed.map(([, name, type]) => `${name} ${type}`)).toEqual(METRICS.map(({ name, type }) => `${name} ${type}`));
});

test("Prometheus' own reader accepts the text", { tags: ["needs-promtool"] }, async () => {
  const served = await serve();
  await busy(served);
  const input = await scrape(served);
  expect(() =>
    execFileSync("promtool", ["check", "metrics"], { input, encoding: "utf8", stdio: "pipe" }),
  ).not.toThrow();
});
