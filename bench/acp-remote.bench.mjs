// One otter on stdio and on a port: 20,000 updates over a WebSocket at `/acp` beside the same over stdio, in one run. The client is that of
// `ws`, because Node 20 has none.
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { WebSocket } from "ws";
import { createCaller, startAcp } from "./acp-client.mjs";
import { startChatModel } from "./chat-model.mjs";
import { cleanEnv, interleave, median, milliseconds, row } from "./report.mjs";

const DELTAS = 20_000;

const scratch = mkdtempSync(join(tmpdir(), "acp-remote-bench-"));
const model = await startChatModel();
const port = await freePort();
const otter = join(import.meta.dirname, "..", "apps", "otter", "dist", "cli.js");
const places = ["--listen", "stdio:", "--listen", `http://127.0.0.1:${port}`];
const settings = ["--log-level", "silent", "--model", "gpt-4o", "--no-coalesce"];
const env = cleanEnv({ HOME: scratch, CHIMERA_HOME: scratch, OPENAI_API_KEY: "x", OPENAI_BASE_URL: model.url });
const stdio = startAcp([otter, "serve", ...places, ...settings], { env });
try {
  await stdio.initialize();
  const socket = await connect(`ws://127.0.0.1:${port}/acp`);
  const peers = { stdio, WebSocket: socket };
  const runs = {};
  for (const [name, { call }] of Object.entries(peers)) {
    const { sessionId } = await call("session/new", { cwd: scratch, mcpServers: [] });
    const prompt = [{ type: "text", text: String(DELTAS) }];
    runs[name] = () => milliseconds(() => call("session/prompt", { sessionId, prompt }));
  }
  const samples = await interleave(runs, { runs: 7, warmup: 2 });
  const rate = (name) => DELTAS / (median(samples[name]) / 1000);
  row({
    name: `${DELTAS} updates over a WebSocket against stdio`,
    ours: rate("WebSocket"),
    floor: rate("stdio"),
    unit: "updates/s",
    target: 0.5,
    better: "higher",
  });
  socket.end();
} finally {
  await stdio.end();
  await model.close();
  rmSync(scratch, { recursive: true });
}

/** The same client over a WebSocket. */
async function connect(url) {
  const socket = await dial(url);
  const { call, take } = createCaller((line) => socket.send(line));
  socket.on("message", (data) => take(data.toString()));
  await call("initialize", { protocolVersion: 1, clientCapabilities: {} });
  return { call, end: () => socket.terminate() };
}

async function dial(url) {
  for (let attempt = 0; ; attempt++) {
    const socket = new WebSocket(url);
    try {
      await once(socket, "open");
      return socket;
    } catch (error) {
      if (attempt === 100) throw error;
      await wait(50);
    }
  }
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: found } = server.address();
  server.close();
  return found;
}
