/** The program's side: real sessions with a memory store, served over the bridge by the real ACP server. */
import type { AgentEvent, SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { ferretDialect, otterDialect, serveAcp, standardDialect } from "@chimera/acp-server";
import { createMemoryStore } from "@chimera/event-store";
import { type Agent, createSessions, createSlashPalette, type Session, type Sessions } from "@chimera/session";
import type { BridgedSession, BridgePeer, BridgeServer } from "../src/index.js";

export interface Program {
  readonly session: Session;
  readonly sessions: Sessions;
  readonly bridged: BridgedSession;
  serve(peer: BridgePeer): BridgeServer;
  close(): Promise<void>;
}

export async function startProgram(agent: Agent): Promise<Program> {
  const palette = createSlashPalette({ home: "/nonexistent" });
  const sessions = createSessions({
    agent,
    store: createMemoryStore<SessionEvent, Summary>(),
    disk: { readText: async () => "", writeText: async () => {} },
    prefix: "ferret",
    defaults: { model: "test-model" },
    commands: palette,
    coalesce: false,
  });
  const session = await sessions.create({ cwd: "/tmp" });
  const core = { sessions, palette, models: () => [], agents: async () => [] };
  return {
    session,
    sessions,
    bridged: {
      id: session.id,
      cwd: session.cwd,
      facts: () => ({
        model: session.settings.model,
        sandbox: "workspace-write",
        approval: "auto",
        mode: session.mode,
        costUsd: 0.25,
        lastEventId: session.lastSeq,
      }),
      attach: () => core.sessions.attach(session.id, { approves: true }),
    },
    serve: (peer) =>
      serveAcp({
        ...peer,
        sessions: async () => core,
        program: { name: "ferret", title: "Ferret", version: "0.0.0" },
        dialects: [standardDialect, otterDialect, ferretDialect],
        native: "ferret",
        defaultCwd: "/tmp",
      }),
    close: () => sessions.shutdown(),
  };
}

/** An agent that emits numbers, a few at a time, while `more` returns true. */
export function counting(more: (n: number) => boolean): { readonly agent: Agent; readonly count: number } {
  let count = 0;
  return {
    async *agent() {
      for (; more(count); count++) {
        if (count % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
        yield { type: "text_delta", metadata: { text: `${count} ` } } satisfies AgentEvent;
      }
    },
    get count() {
      return count;
    },
  };
}

/** Asks for one permission and emits the decision. */
export const asking: Agent = async function* (_turn, { ask }) {
  const call = { call_id: "call-1", tool: "Bash", args: { command: "ls" } };
  yield { type: "tool_call", metadata: { ...call, kind: "execute", title: "ls", locations: [] } } satisfies AgentEvent;
  const { decision } = await ask({ ...call, risk: "low" });
  yield { type: "text_delta", metadata: { text: `decided ${decision}` } } satisfies AgentEvent;
};
