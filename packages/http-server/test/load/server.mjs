// The server under load, in a process of its own so that its memory can be measured: `burst COUNT SIZE` is all its agent knows.
import { existsSync, readdirSync } from "node:fs";
import { promisify } from "node:util";
import { getHeapSpaceStatistics } from "node:v8";
import { createFileStore } from "@chimera/event-store";
import { createApp } from "@chimera/http-server";
import { listen } from "@chimera/http-server/node";
import { createSessions } from "@chimera/session";

const [root, port = "0"] = process.argv.slice(2);

/** The output of long commands: it goes to readers and into the log, and into nobody's conversation. */
async function* bursting({ prompt }, { signal }) {
  const [, count, size] = prompt.text.split(" ").map(Number);
  const chunk = "x".repeat(size);
  // What one call may log is bounded, so there are many.
  const perCall = Math.max(1, Math.floor((256 * 1024) / size));
  yield { type: "step_start", metadata: { step: 0 } };
  for (let i = 0; i < count && !signal.aborted; i++) {
    const call_id = `call-${Math.floor(i / perCall)}`;
    if (i % perCall === 0) {
      const call = { tool: "bash", args: {}, kind: "execute", title: "a long command", locations: [] };
      yield { type: "tool_call", metadata: { call_id, ...call } };
    }
    yield { type: "tool_progress", metadata: { call_id, stream: "stdout", chunk } };
    if (i % perCall === perCall - 1 || i === count - 1) {
      yield { type: "tool_result", metadata: { call_id, success: true, output: "", duration_ms: 1 } };
    }
    // As fast as a command could possibly print, not as fast as a loop can.
    if (i % 32 === 31) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  yield { type: "step_end", metadata: { step: 0 } };
}

const store = createFileStore({ root });
const sessions = createSessions({
  agent: bursting,
  store,
  prefix: "load",
  defaults: { model: "none" },
  coalesce: false,
});
const app = createApp({ name: "load", version: "0.0.0", sessions, defaultCwd: root });
const server = await listen(app, { host: "127.0.0.1", port: Number(port) });
process.send({ port: server.port });
const ANSWERS = {
  rss: async () => {
    globalThis.gc?.();
    return process.memoryUsage().rss;
  },
  async footprint() {
    for (let i = 0; i < 2; i++) {
      globalThis.gc?.();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const spaces = getHeapSpaceStatistics();
    const reserve = spaces.reduce((sum, space) => sum + space.physical_space_size - space.space_used_size, 0);
    return {
      // Without what the collector holds free, which it gives back only when nothing has happened for half a minute.
      inUse: process.memoryUsage().rss - reserve,
      descriptors: existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").length : 0,
      resources: process.getActiveResourcesInfo().sort().join(),
    };
  },
  /** Bytes that something still needs. */
  async held() {
    for (let i = 0; i < 3; i++) {
      globalThis.gc?.();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  },
  connections: () => promisify(server.server.getConnections).call(server.server),
};
process.on("message", async ({ number, what }) => process.send({ number, value: await ANSWERS[what]() }));
process.once("SIGTERM", async () => {
  await Promise.all([server.close(), sessions.shutdown()]);
  process.exit(0);
});
