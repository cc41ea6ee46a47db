// A program with a bridge, small enough for a check: a sessions in memory, an agent that shows what a page can draw.
import { ferretDialect, serveAcp, standardDialect } from "@chimera/acp-server";
import { createBridge } from "@chimera/bridge";
import { createMemoryStore } from "@chimera/event-store";
import { createSessions, createSlashPalette } from "@chimera/session";

/** @returns {Promise<{ session: object, exit: Promise<{ code: number }>, bridge: object, stop(): Promise<void> }>} */
export async function startDemoProgram({ remoteUrl, token, agent = demoAgent }) {
  const palette = createSlashPalette({ home: "/nonexistent" });
  const sessions = createSessions({
    agent,
    store: createMemoryStore(),
    prefix: "ferret",
    defaults: { model: "demo" },
    commands: palette,
    coalesce: false,
  });
  const session = await sessions.create({ cwd: "/home/ada/garden" });
  const core = { sessions, palette, models: () => [], agents: async () => [] };
  const bridge = createBridge({
    remoteUrl,
    token,
    insecure: true,
    backoff: { firstMs: 50, maxMs: 200 },
    session: {
      id: session.id,
      cwd: session.cwd,
      facts: () => ({
        model: session.settings.model,
        sandbox: "workspace-write",
        approval: "auto",
        mode: session.mode,
        costUsd: 0.12,
        lastEventId: session.lastSeq,
      }),
      attach: () => sessions.attach(session.id, { approves: true }),
    },
    serve: (peer) =>
      serveAcp({
        ...peer,
        sessions: async () => core,
        program: { name: "ferret", title: "Ferret", version: "0.0.0" },
        dialects: [standardDialect, ferretDialect],
        native: "ferret",
        defaultCwd: session.cwd,
      }),
  });
  const abort = new AbortController();
  const exit = bridge.run(abort.signal);
  return {
    session,
    bridge,
    exit,
    async stop() {
      abort.abort();
      await exit;
      await sessions.shutdown();
    },
  };
}

/** Counts aloud until `more` says no. */
export function countingAgent(more) {
  return async function* () {
    for (let n = 0; more(n); n++) {
      if (n % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 4));
      yield { type: "text_delta", metadata: { text: `${n} ` } };
    }
  };
}

/** A plan, an edit, a question and an answer. */
async function* demoAgent(_turn, { ask }) {
  const say = (text) => ({ type: "text_delta", metadata: { text } });
  const steps = ["Read the beds", "Water the tomatoes"];
  const plan = (done) => ({
    type: "plan",
    metadata: {
      entries: steps.map((content, n) => ({
        content,
        priority: "medium",
        status: n < done ? "completed" : "pending",
      })),
    },
  });
  yield say("I will look at the beds first.");
  yield plan(0);
  yield* call("call-1", { tool: "Edit", kind: "edit", title: "Edit beds.txt", args: { path: "beds.txt" } }, () => ({
    success: true,
    output: "",
    content: [
      {
        type: "diff",
        path: "beds.txt",
        old_text: "tomatoes: dry\nbeans: ok\n",
        new_text: "tomatoes: wet\nbeans: ok\n",
      },
    ],
  }));
  yield plan(1);
  const args = { command: "git push origin main" };
  yield toolCall("call-2", { tool: "Bash", kind: "execute", title: "git push origin main", args });
  const { decision } = await ask({ call_id: "call-2", tool: "Bash", args, risk: "medium" });
  const allowed = decision === "allow" || decision === "always";
  yield toolResult("call-2", { success: allowed, output: allowed ? "main -> main" : "not allowed" });
  yield plan(2);
  yield say(allowed ? "Pushed. Everything is watered." : "Not pushed, as you wish.");
}

function* call(id, what, run) {
  yield toolCall(id, what);
  yield toolResult(id, run());
}

const toolCall = (call_id, what) => ({ type: "tool_call", metadata: { call_id, locations: [], ...what } });
const toolResult = (call_id, result) => ({ type: "tool_result", metadata: { call_id, duration_ms: 12, ...result } });
