// Each wire against the least that reads the same bytes: fetch, eventsource-parser and JSON.parse. Deltas per second, the time to
// the first one, and what importing all five costs.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { build } from "esbuild";
import { cleanEnv, interleave, median, milliseconds, row } from "./report.mjs";

const deltas = 20_000;
const PER_WRITE = 16;

const event = (value) => `data: ${JSON.stringify(value)}\n\n`;
const line = (value) => `${JSON.stringify(value)}\n`;

/** How each vendor streams text: what leads to it, what comes first, one delta, and what comes last. */
const WIRES = {
  messages: {
    model: "claude-opus-5-5",
    env: (url) => ({ ANTHROPIC_API_KEY: "x", ANTHROPIC_BASE_URL: url }),
    first: () =>
      event({ type: "message_start", message: {} }) +
      event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    delta: (text) => event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
    last: () => event({ type: "message_delta", delta: { stop_reason: "end_turn" } }) + event({ type: "message_stop" }),
    textIn: ({ delta }) => delta?.text,
  },
  chat: {
    model: "gpt-4o",
    env: (url) => ({ OPENAI_API_KEY: "x", OPENAI_BASE_URL: url }),
    delta: (content) => event({ id: "c", choices: [{ index: 0, delta: { content }, finish_reason: null }] }),
    last: () => `${event({ id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}data: [DONE]\n\n`,
    textIn: ({ choices }) => choices[0].delta.content,
  },
  responses: {
    model: "azure/gpt-5",
    env: (url) => ({ AZURE_OPENAI_API_KEY: "x", AZURE_OPENAI_ENDPOINT: url }),
    // Numbered: the counter is known to the wire, and passed over.
    delta: (delta, n) =>
      event({ type: "response.output_text.delta", sequence_number: n, item_id: "m", output_index: 0, delta }),
    last: () => event({ type: "response.completed", response: {} }),
    textIn: ({ delta }) => delta,
  },
  gemini: {
    model: "gemini-3-flash-preview",
    env: (url) => ({ GEMINI_API_KEY: "x", GEMINI_BASE_URL: url }),
    delta: (text) => event({ candidates: [{ content: { role: "model", parts: [{ text }] } }] }),
    last: () => event({ candidates: [{ content: { parts: [] }, finishReason: "STOP" }] }),
    textIn: ({ candidates }) => candidates[0].content.parts[0]?.text,
  },
  ollama: {
    model: "qwen3:8b",
    env: (url) => ({ OLLAMA_HOST: url }),
    delta: (content) => line({ model: "m", message: { role: "assistant", content }, done: false }),
    last: () => line({ model: "m", message: { role: "assistant", content: "" }, done: true }),
    textIn: ({ message }) => message.content,
  },
};

if (isMainThread) await measure();
else serve();

async function measure() {
  const providers = fileURLToPath(new URL("../packages/agent/dist/providers/index.js", import.meta.url));
  const { createModels, anthropicFirst } = await import(pathToFileURL(providers).href);
  const { createParser } = createRequire(providers)("eventsource-parser");
  const worker = new Worker(import.meta.filename);
  const port = await new Promise((resolve) => worker.once("message", resolve));
  for (const [name, wire] of Object.entries(WIRES)) {
    const base = `http://127.0.0.1:${port}/${name}`;
    const model = await createModels({ env: wire.env(base), chain: anthropicFirst })(wire.model);
    const request = (text) => ({
      system: "",
      tools: [],
      messages: [{ role: "user", text }],
      signal: new AbortController().signal,
    });
    const ours = async (count, onFirst = () => {}) => {
      let characters = 0;
      for await (const batch of model.stream(request(String(count)))) {
        for (const one of batch) if (one.type === "text") characters += one.text.length;
        onFirst();
      }
      return characters;
    };
    const floor = async (count, onFirst = () => {}) => {
      let characters = 0;
      const take = (data) => {
        if (data !== "[DONE]" && data !== "") characters += wire.textIn(JSON.parse(data))?.length ?? 0;
      };
      const parser = createParser({ onEvent: ({ data }) => take(data) });
      const decoder = new TextDecoder();
      let rest = "";
      const reply = await fetch(base, { method: "POST", body: `"${count}"` });
      for await (const bytes of reply.body) {
        const text = decoder.decode(bytes, { stream: true });
        if (name === "ollama") {
          const lines = (rest + text).split("\n");
          rest = lines.pop();
          lines.forEach(take);
        } else parser.feed(text);
        onFirst();
      }
      return characters;
    };
    if ((await ours(deltas)) !== (await floor(deltas))) throw new Error(`${name}: two different texts were read`);
    const streams = await interleave(
      { ours: () => milliseconds(() => ours(deltas)), floor: () => milliseconds(() => floor(deltas)) },
      { runs: 15, warmup: 4 },
    );
    const perSecond = (samples) => (deltas / median(samples)) * 1000;
    row({
      name: `wire ${name}: 20,000 deltas`,
      ours: perSecond(streams.ours),
      floor: perSecond(streams.floor),
      unit: "deltas/s",
      target: 1,
      better: "higher",
    });
    const untilFirst = (read) =>
      new Promise((resolve) => {
        const started = performance.now();
        void read(1, () => resolve(performance.now() - started));
      });
    const firsts = await interleave(
      { ours: () => untilFirst(ours), floor: () => untilFirst(floor) },
      { runs: 40, warmup: 5 },
    );
    row({
      name: `wire ${name}: first delta`,
      ours: median(firsts.ours),
      floor: median(firsts.floor),
      unit: "ms",
      target: 1,
    });
  }
  await worker.terminate();
  await measureImport();
}

/** The five wires and what they share in one file, CommonJS as a program has them: an ES module would load at once what is asked for on demand. */
async function measureImport() {
  const sources = fileURLToPath(new URL("../packages/agent/src/providers/", import.meta.url));
  const files = { messages: "messages/model" };
  const names = [...Object.keys(WIRES).map((name) => `wires/${files[name] ?? name}`), "post"];
  const contents = names.map((name, n) => `export * as w${n} from "./${name}.ts";`).join("\n");
  const options = { bundle: true, minify: true, platform: "node", format: "cjs" };
  const directory = mkdtempSync(join(tmpdir(), "chimera-wires-"));
  const outfile = join(directory, "wires.cjs");
  await build({ stdin: { contents, resolveDir: sources }, ...options, outfile });
  const node = (code) => execFileSync(process.execPath, ["-e", code], { env: cleanEnv() });
  const starts = await interleave(
    {
      bare: () => milliseconds(() => node("")),
      wires: () => milliseconds(() => node(`require(${JSON.stringify(outfile)});`)),
    },
    { runs: 15, warmup: 2 },
  );
  rmSync(directory, { recursive: true });
  row({ name: "wires: import", ours: median(starts.wires) - median(starts.bare), unit: "ms", target: "15 ms" });
}

/** On its own thread, from bytes built beforehand, so that it is never what is measured. */
function serve() {
  const built = new Map();
  const server = createServer((incoming, reply) => {
    let body = "";
    incoming.setEncoding("utf8").on("data", (text) => {
      body += text;
    });
    incoming.on("end", async () => {
      if (incoming.url.endsWith("/api/show")) return reply.end("{}");
      const wire = incoming.url.split("/")[1];
      // The prompt is the one text that is a number.
      const count = Number(/"(\d+)"/.exec(body)[1]);
      const key = `${wire} ${count}`;
      if (!built.has(key)) built.set(key, writesOf(WIRES[wire], count));
      reply.writeHead(200, { "content-type": wire === "ollama" ? "application/x-ndjson" : "text/event-stream" });
      for (const bytes of built.get(key)) {
        if (!reply.write(bytes)) await new Promise((resolve) => reply.once("drain", resolve));
      }
      reply.end();
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
}

function writesOf({ first = () => "", delta, last }, count) {
  const writes = [Buffer.from(first())];
  for (let at = 0; at < count; at += PER_WRITE) {
    const words = Array.from({ length: Math.min(PER_WRITE, count - at) }, (_, n) => delta(`t${at + n} `, at + n));
    writes.push(Buffer.from(words.join("")));
  }
  return [...writes, Buffer.from(last())].filter((bytes) => bytes.length > 0);
}
