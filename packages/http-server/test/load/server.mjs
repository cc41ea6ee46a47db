// The server under load, in a process of its own so that its memory can be measured: `burst COUNT SIZE` is all its agent knows.
import { promisify } from "node:util";
import { createFileStore, createMemoryStore } from "@chimera/event-store";
import { createApp } from "@chimera/http-server";
import { listen } from "@chimera/http-server/node";
import { createSessions, createSlashPalette, MODE_FLAGS } from "@chimera/session";

const [root, port = "0"] = process.argv.slice(2);

async function* bursting({ prompt }, { signal }) {
  const [, count, size] = prompt.text.split(" ");
  const text = "x".repeat(Number(size));
  yield { type: "step_start", metadata: { step: 0 } };
  for (let i = 0; i < Number(count) && !signal.aborted; i++) {
    yield { type: "text_delta", metadata: { text } };
    // As fast as a model could possibly speak, not as fast as a loop can.
    if (i % 32 === 31) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  yield { type: "step_end", metadata: { step: 0 } };
}

const palette = createSlashPalette({ home: root });
const defaults = { model: "none", agent: "build", maxSteps: 50, maxCostUsd: null, allowedTools: null, options: {} };
const sessions = createSessions({
  agent: bursting,
  store: createFileStore({ root }),
  ephemeral: createMemoryStore(),
  snapshots: null,
  disk: { readText: async () => "", writeText: async () => {} },
  prefix: "load",
  defaults: { ...defaults, ...MODE_FLAGS.review },
  coalesce: false,
  commands: palette,
});
const app = createApp({ name: "load", version: "0.0.0", sessions, palette, defaultCwd: root });
const server = await listen(app, { host: "127.0.0.1", port: Number(port) });
process.send({ port: server.port });
const ANSWERS = {
  rss: async () => {
    globalThis.gc?.();
    return process.memoryUsage().rss;
  },
  connections: () => promisify(server.server.getConnections).call(server.server),
};
process.on("message", async ({ number, what }) => process.send({ number, value: await ANSWERS[what]() }));
process.once("SIGTERM", async () => {
  await Promise.all([server.close(), sessions.shutdown()]);
  process.exit(0);
});
