#!/usr/bin/env node
// What a long session and a fast model cost the page, in milliseconds of main-thread CPU of a real Chromium, and the bounds they keep:
//   npm run test:page
// The page is the built one; its records come from a server here, which sends them as fast as the measure says.
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { chromium } from "playwright-core";
import { readPage } from "../../packages/web-page/dist/index.js";

const BOUNDS = {
  "5,000 records on screen": 500,
  "20,000 deltas": 1200,
  "second half of the deltas, of the first": 1.5,
  "heap in MB": 15,
};
const ID = "otter-20261118T000000-00000000";
const RATE_PER_MS = 5;

const records = [];
const record = (type, turn, metadata) => {
  const seq = records.length + 1;
  records.push({ seq, id: "evt-00000000", type, turn, metadata, ts: new Date(0).toISOString() });
};
for (let turn = 0; turn < 50; turn++) {
  record("user_message", turn, { prompt: `msg-${turn}`, text: `Do the thing number ${turn}` });
  record("turn_start", turn, { prompt: `msg-${turn}` });
  for (let step = 0; step < 2; step++) {
    record("step_start", turn, { step });
    const text = `## Step ${step}\n\nSome **text** about \`file-${turn}.js\`, with a list:\n\n- one\n- two\n\n\`\`\`js\nconst a = ${turn};\n\`\`\`\n\n`;
    for (let at = 0; at < 40; at++)
      record("text_delta", turn, { text: text.slice((at * text.length) / 40, ((at + 1) * text.length) / 40) });
    const call = {
      call_id: `c-${turn}-${step}`,
      tool: "Read",
      args: { path: `src/file-${turn}.js` },
      kind: "read",
      title: `Read file-${turn}.js`,
      locations: [],
    };
    record("tool_call", turn, call);
    for (let at = 0; at < 3; at++)
      record("tool_progress", turn, { call_id: call.call_id, stream: "stdout", chunk: `line ${at}\n` });
    record("tool_result", turn, { call_id: call.call_id, success: true, output: "line\n".repeat(40), duration_ms: 12 });
    record("step_end", turn, { step });
  }
  record("agent_result", turn, { output: "", steps: 2, tool_calls_total: 2, cost: 0, success: true, error: null });
}
record("user_message", 50, { prompt: "msg-50", text: "Now talk" });
record("turn_start", 50, { prompt: "msg-50" });

/** The deltas that come once the measure asks for them: prose of paragraphs, five characters each. */
let stream = null;
const send = (one) => stream.write(`event: record\ndata: ${JSON.stringify({ session_id: ID, record: one })}\n\n`);
async function talk(count) {
  const started = performance.now();
  for (let sent = 0; sent < count; ) {
    const due = Math.min(count, Math.ceil((performance.now() - started) * RATE_PER_MS));
    for (; sent < due; sent++) {
      record("text_delta", 50, { text: sent % 120 === 119 ? ".\n\nAn" : "word " });
      send(records.at(-1));
    }
    await pause(1);
  }
}

const files = new Map((await readPage()).map((file) => [file.path, file]));
const row = {
  session_id: ID,
  state: "live",
  status: "running",
  permissions: [],
  questions: [],
  working_dir: "/w",
  last_touched: 1,
  title: "A long session",
};
const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://page");
  const file = files.get(pathname);
  if (file) return response.writeHead(200, { "content-type": file.type }).end(file.body);
  if (pathname === "/sessions") return json(response, 200, { sessions: [row], next: null });
  if (pathname !== "/events") return json(response, 404, { error: "not_found" });
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(": connected\n\n");
  if (!searchParams.has("session")) return;
  stream = response;
  for (const one of records) send(one);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${server.address().port}/`;

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const results = {};
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(address);
  await page.getByText("A long session").first().waitFor();
  await pause(1000);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const cpu = async () => {
    const { metrics } = await devtools.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration").value * 1000;
  };
  let from = await cpu();
  await page.evaluate((id) => location.assign(`#/s/${id}`), ID);
  await page.locator(".turn").getByText("Now talk").waitFor();
  await pause(1500);
  results["5,000 records on screen"] = (await cpu()) - from;
  await devtools.send("HeapProfiler.collectGarbage");
  const { usedSize } = await devtools.send("Runtime.getHeapUsage");
  results["heap in MB"] = usedSize / 1e6;
  const halves = [];
  for (let half = 0; half < 2; half++) {
    from = await cpu();
    await talk(10_000);
    await pause(500);
    halves.push((await cpu()) - from);
  }
  results["20,000 deltas"] = halves[0] + halves[1];
  results["second half of the deltas, of the first"] = halves[1] / halves[0];
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
}
for (const [name, bound] of Object.entries(BOUNDS)) {
  const isKept = results[name] <= bound;
  console.log(`${isKept ? "ok  " : "OVER"} ${name}: ${results[name].toFixed(results[name] < 100 ? 1 : 0)} of ${bound}`);
  if (!isKept) process.exitCode = 1;
}
console.log(`${records.length} records in all`);

function json(response, status, body) {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
