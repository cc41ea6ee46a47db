/** Sessions over a memory store, with agents written on the spot. */
import { type AgentEvent, isLost, type SessionEvent, type SessionRecord } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createMemoryStore } from "@chimera/event-store";
import { vi } from "vitest";
import {
  type Agent,
  createSessions,
  createSlashPalette,
  type Session,
  type Sessions,
  type SessionsDeps,
} from "../src/index.js";

export const defaults = { model: "test-model" } as const;

export function makeSessions(agent: Agent, overrides: Partial<SessionsDeps> = {}): Sessions {
  return createSessions({
    agent,
    store: createMemoryStore<SessionEvent, Summary>(),
    disk: { readText: async () => "", writeText: async () => {} },
    prefix: "otter",
    defaults,
    commands: createSlashPalette({ home: "/nonexistent" }),
    ...overrides,
  });
}

/** Yields the given texts as one model step. */
export function speaking(...texts: string[]): Agent {
  return async function* () {
    yield { type: "step_start", metadata: { step: 0 } } satisfies AgentEvent;
    for (const text of texts) yield { type: "text_delta", metadata: { text } } satisfies AgentEvent;
    yield { type: "step_end", metadata: { step: 0 } } satisfies AgentEvent;
  };
}

/** Waits for what another turn of the event loop brings about. */
export async function until(condition: () => boolean): Promise<void> {
  await vi.waitUntil(condition, { interval: 2, timeout: 10_000 });
}

/** Waits until a turn of the session has said something. */
export function untilHeard(session: Session): Promise<void> {
  return until(() => session.conversation.count(new Set(["text_delta"])) > 0);
}

/** Yields the text, then waits until it is cancelled. */
export function untilCancelled(text: string): Agent {
  return async function* (_turn, { signal }) {
    yield { type: "text_delta", metadata: { text } } satisfies AgentEvent;
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
  };
}

export async function recordsOf(sessions: Sessions, id: string): Promise<SessionRecord[]> {
  const records: SessionRecord[] = [];
  for await (const entry of sessions.logs.read(id)) if (!isLost(entry)) records.push(entry.event);
  return records;
}

export function typesOf(records: readonly { readonly type: string }[]): string[] {
  return records.map((record) => record.type);
}

/** Runs a prompt to the end of its turn and returns that turn's records. */
export async function runPrompt(sessions: Sessions, id: string, text: string): Promise<SessionRecord[]> {
  const session = await sessions.load(id);
  const { turn } = session.prompt({ text });
  await session.idle();
  return (await recordsOf(sessions, id)).filter((record) => record.turn === turn);
}
