// Rollups over many sessions and transcripts of long ones, against reading the same bytes and no more.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createFileStore, makeSessionId } from "../packages/event-store/dist/index.js";
import { costRollup, listRuns, openTranscript, renderTranscript } from "../packages/run-reports/dist/index.js";
import { interleave, median, milliseconds, row } from "./report.mjs";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc");
const work = mkdtempSync(join(tmpdir(), "bench-reports-"));
const now = Date.UTC(2026, 5, 1);

function makeSessions(count) {
  const root = join(work, `home-${count}`);
  for (let i = 0; i < count; i++) {
    const id = makeSessionId("otter", Date.UTC(2026, 0, 1) + 1000 * i);
    mkdirSync(join(root, "eventlog", id), { recursive: true });
    const summary = {
      session_id: id,
      run_id: id,
      started_at: new Date(Date.UTC(2026, 0, 1) + 1000 * i).toISOString(),
      ended_at: null,
      model: i % 3 === 0 ? "gpt-4o" : "claude-sonnet-4-6",
      prompt: "a prompt of usual length, as people write them",
      success: i % 5 !== 0,
      cost_usd: i / 1e5,
      total_tokens: i,
      steps: 3,
      tool_calls_total: 2,
      turns: 1,
    };
    writeFileSync(join(root, "eventlog", id, "summary.json"), JSON.stringify(summary));
  }
  return root;
}

/** The floor: every summary read and parsed, and its cost added. */
function addUp(root) {
  let sum = 0;
  for (const id of readdirSync(join(root, "eventlog"))) {
    if (!id.startsWith("otter-")) continue;
    sum += JSON.parse(readFileSync(join(root, "eventlog", id, "summary.json"), "utf8")).cost_usd;
  }
  return sum;
}

async function rollups() {
  const large = makeSessions(10_000);
  const small = makeSessions(100);
  const stores = { large: createFileStore({ root: large }), small: createFileStore({ root: small }) };
  const samples = await interleave(
    {
      large: () => milliseconds(() => costRollup(stores.large, { now })),
      small: () => milliseconds(() => costRollup(stores.small, { now })),
      page: () => milliseconds(() => listRuns(stores.large, { now, limit: 20 })),
      list: () => milliseconds(() => stores.large.list()),
      storePage: () => milliseconds(() => stores.large.list({ limit: 20 })),
      floor: () => milliseconds(() => addUp(large)),
    },
    { runs: 5 },
  );
  row({
    name: "cost rollup of 10,000 sessions against the store's list",
    ours: median(samples.large),
    floor: median(samples.list),
    unit: "ms",
    target: 1.5,
  });
  row({
    name: "the same against reading each summary",
    ours: median(samples.large),
    floor: median(samples.floor),
    unit: "ms",
    target: 1,
  });
  row({
    name: "cost rollup of 10,000 against 100 times that of 100",
    ours: median(samples.large),
    floor: 100 * median(samples.small),
    unit: "ms",
    target: 1.5,
  });
  row({
    name: "newest 20 of 10,000 runs against the store's own page",
    ours: median(samples.page),
    floor: median(samples.storePage),
    unit: "ms",
    target: 1.5,
  });
  await stores.large.close();
  await stores.small.close();
}

/** A turn as it is logged: many small pieces of text, a call, its output. */
function turnOf(number) {
  const event = (type, metadata) => ({ type, turn: number, metadata });
  return [
    event("user_message", { prompt: `p${number}`, text: "please look at the next file and say what it does" }),
    event("turn_start", { prompt: `p${number}` }),
    ...Array.from({ length: 40 }, (_, i) => event("text_delta", { text: `some **words** of the answer, part ${i}. ` })),
    event("tool_call", {
      call_id: `c${number}`,
      tool: "Read",
      title: "src/x.ts",
      args: {},
      kind: "read",
      locations: [],
    }),
    event("tool_result", {
      call_id: `c${number}`,
      success: true,
      output: "a line of code;\n".repeat(100),
      duration_ms: 3,
    }),
    event("agent_result", { output: "", steps: 1, tool_calls_total: 1, cost: 0, success: true, error: null }),
  ];
}

async function transcripts(turns) {
  const store = createFileStore({ root: join(work, "one") });
  const id = makeSessionId("otter", now);
  const log = await store.create(id, { prompt: "look" });
  for (let i = 0; i < turns; i++) log.append(turnOf(i));
  await log.durable();
  const size = { bytes: 0 };
  const rendering = (format) => () =>
    milliseconds(async () => {
      size.bytes = 0;
      for await (const chunk of renderTranscript(await openTranscript(store, id), { format }))
        size.bytes += chunk.length;
    });
  const floor = () =>
    milliseconds(async () => {
      for await (const entry of store.read(id)) JSON.stringify(entry.event);
    });
  const samples = await interleave(
    { html: rendering("html"), md: rendering("md"), json: rendering("json"), floor },
    { runs: 3 },
  );
  for (const format of ["json", "md", "html"]) {
    row({
      name: `a transcript of ${(turns * 45).toLocaleString("en-US")} records as ${format}, against read and stringify`,
      ours: median(samples[format]),
      floor: median(samples.floor),
      unit: "ms",
    });
  }
  await memory(store, id);
  await log.close();
  await store.close();
}

async function memory(store, id) {
  gc();
  const before = process.memoryUsage().heapUsed;
  let peak = 0;
  let bytes = 0;
  let chunks = 0;
  for await (const chunk of renderTranscript(await openTranscript(store, id), { format: "html" })) {
    bytes += chunk.length;
    if (++chunks % 200 !== 0) continue;
    gc();
    peak = Math.max(peak, process.memoryUsage().heapUsed - before);
  }
  row({
    name: `heap held while ${Math.round(bytes / 1e6)} MB of HTML go by`,
    ours: peak / 2 ** 20,
    unit: "MiB",
    target: "16 MiB",
  });
}

try {
  await rollups();
  await transcripts(2_000);
} finally {
  rmSync(work, { recursive: true, force: true });
}
