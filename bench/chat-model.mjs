// A model on its own thread. It speaks Chat Completions, Messages, Responses and Gemini, and streams as many deltas as the last
// message says, from bytes built beforehand, so that it is never what is measured.
import { createServer } from "node:http";
import { isMainThread, parentPort, Worker } from "node:worker_threads";

const PER_WRITE = 16;

/** Starts the model; `url` is the base for clients of the protocol. */
export async function startChatModel() {
  const worker = new Worker(import.meta.filename);
  const port = await new Promise((resolve) => worker.once("message", resolve));
  return { url: `http://127.0.0.1:${port}/v1`, close: () => worker.terminate() };
}

// --- internal ---

function serve() {
  const built = new Map();
  const server = createServer((incoming, reply) => {
    const body = [];
    incoming.on("data", (bytes) => body.push(bytes));
    incoming.on("end", async () => {
      const wire = Object.keys(WIRES).find((name) => incoming.url.includes(name)) ?? "/chat/completions";
      const deltas = deltasOf(JSON.parse(Buffer.concat(body)));
      const key = `${wire} ${deltas}`;
      if (!built.has(key)) built.set(key, writesOf(WIRES[wire], deltas));
      reply.writeHead(200, { "content-type": "text/event-stream" });
      for (const bytes of built.get(key)) {
        if (!reply.write(bytes)) await new Promise((resolve) => reply.once("drain", resolve));
      }
      reply.end();
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
}

/**
 * The number in the last message. An agent's own text may be around it there, so `deltas=20` is looked for first. One delta for what
 * has neither, and for a request without tools that says `deltas=20`: an agent asks for a title with the person's words.
 */
function deltasOf({ messages, input, contents, tools }) {
  const last = (messages ?? input ?? contents).at(-1);
  const asked = [...JSON.stringify(last).matchAll(/deltas=(\d+)/g)].at(-1)?.[1];
  if (asked !== undefined) return tools?.length > 0 ? Number(asked) : 1;
  return Number(/\d+/.exec(typeof last.content === "string" ? last.content : "")?.[0] ?? 1);
}

const named = (type, value) => `event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`;
const plain = (value) => `data: ${JSON.stringify(value)}\n\n`;
const choice = (delta, finish_reason = null) => plain({ id: "c", choices: [{ index: 0, delta, finish_reason }] });
const parts = (text, rest = {}) =>
  plain({ candidates: [{ index: 0, content: { role: "model", parts: [{ text }] }, ...rest }] });
const answer = (status, text) => ({
  response: {
    ...{ id: "r", object: "response", status, model: "m", created_at: 0 },
    output: text === undefined ? [] : [message(text)],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  },
});
const message = (text) => ({
  ...{ id: "m", type: "message", role: "assistant", status: "completed" },
  content: [{ type: "output_text", text, annotations: [] }],
});
const at = { item_id: "m", output_index: 0, content_index: 0 };

/** By a part of the path: what begins a reply, one delta of it, and what ends it. */
const WIRES = {
  "/chat/completions": {
    begin: "",
    delta: (content) => choice({ content }),
    end: () => `${choice({}, "stop")}data: [DONE]\n\n`,
  },
  "/messages": {
    begin:
      named("message_start", {
        message: {
          ...{ id: "m", type: "message", role: "assistant", model: "m", content: [], stop_reason: null },
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      }) + named("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    delta: (text) => named("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
    end: () =>
      named("content_block_stop", { index: 0 }) +
      named("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } }) +
      named("message_stop", {}),
  },
  "/responses": {
    begin:
      named("response.created", answer("in_progress")) +
      named("response.output_item.added", { output_index: 0, item: { ...message(""), content: [] } }),
    delta: (delta) => named("response.output_text.delta", { ...at, delta }),
    end: (text) =>
      named("response.output_text.done", { ...at, text }) +
      named("response.output_item.done", { output_index: 0, item: message(text) }) +
      named("response.completed", answer("completed", text)),
  },
  GenerateContent: { begin: "", delta: (text) => parts(text), end: () => parts("", { finishReason: "STOP" }) },
};

function writesOf({ begin, delta, end }, deltas) {
  const words = Array.from({ length: deltas }, (_, n) => `t${n} `);
  const writes = [Buffer.from(begin)];
  for (let from = 0; from < deltas; from += PER_WRITE) {
    writes.push(
      Buffer.from(
        words
          .slice(from, from + PER_WRITE)
          .map(delta)
          .join(""),
      ),
    );
  }
  writes.push(Buffer.from(end(words.join(""))));
  return writes.filter(({ length }) => length > 0);
}

if (!isMainThread) serve();
