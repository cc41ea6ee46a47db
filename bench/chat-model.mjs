// A model on its own thread. It speaks Chat Completions and streams as many deltas as the last message says, from bytes
// built beforehand, so that it is never what is measured.
import { createServer } from "node:http";
import { isMainThread, parentPort, Worker } from "node:worker_threads";

const PER_WRITE = 16;

if (!isMainThread) serve();

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
      const { messages } = JSON.parse(Buffer.concat(body));
      const deltas = Number(/\d+/.exec(messages.at(-1).content)[0]);
      if (!built.has(deltas)) built.set(deltas, writesOf(deltas));
      reply.writeHead(200, { "content-type": "text/event-stream" });
      for (const bytes of built.get(deltas)) {
        if (!reply.write(bytes)) await new Promise((resolve) => reply.once("drain", resolve));
      }
      reply.end();
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
}

function writesOf(deltas) {
  const event = (value) => `data: ${JSON.stringify(value)}\n\n`;
  const chunk = (delta, finish_reason = null) => event({ id: "c", choices: [{ index: 0, delta, finish_reason }] });
  const writes = [];
  for (let at = 0; at < deltas; at += PER_WRITE) {
    const words = Array.from({ length: Math.min(PER_WRITE, deltas - at) }, (_, n) => chunk({ content: `t${at + n} ` }));
    writes.push(Buffer.from(words.join("")));
  }
  writes.push(Buffer.from(`${chunk({}, "stop")}data: [DONE]\n\n`));
  return writes;
}
