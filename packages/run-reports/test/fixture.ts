/** Makes sessions in a memory store or as a plain source. */
import type { AgentEvent, SessionEvent, SessionRecord } from "@chimera/acp-schema/events";
import { createMemoryStore, type EventStore } from "@chimera/event-store";
import { type RenderOptions, renderTranscript, type TranscriptSource } from "../src/index.js";

export const ID = "otter-20260425T120300-aaaa1111";
export const NOW = Date.parse("2026-04-30T00:00:00Z");

export type Summaries = Readonly<Record<string, object>>;

export async function storeOf(summaries: Summaries): Promise<EventStore<SessionEvent, object>> {
  const store = createMemoryStore<SessionEvent, object>();
  for (const [id, summary] of Object.entries(summaries)) await (await store.create(id, summary)).close();
  return store;
}

/** An event of any shape, because logs may contain more than the schema allows. */
export type Loose = AgentEvent | { type: string; metadata: unknown; turn?: number | null; origin?: string };

export function recordsOf(events: readonly Loose[]): SessionRecord[] {
  return events.map((event, index) => ({
    seq: index + 1,
    id: "evt-00000000",
    turn: 0,
    ts: new Date(NOW + index * 1000).toISOString(),
    ...event,
  })) as SessionRecord[];
}

export function sourceOf(
  events: readonly Loose[],
  { id = ID, summary = {} }: { id?: string; summary?: object | null } = {},
): TranscriptSource {
  return { id, summary, events: stream(recordsOf(events)) };
}

export async function* stream<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

export async function render(source: TranscriptSource, options: RenderOptions): Promise<string> {
  let text = "";
  for await (const chunk of renderTranscript(source, options)) text += chunk;
  return text;
}

export const text = (text: string): Loose => ({ type: "text_delta", metadata: { text } });
export const prompt = (text: string, prompt = "p1", turn = 0): Loose => ({
  type: "user_message",
  turn,
  metadata: { prompt, text },
});
export const result = (metadata: object = {}): Loose => ({
  type: "agent_result",
  metadata: { output: "", steps: 1, tool_calls_total: 0, cost: 0, success: true, error: null, ...metadata },
});
