/** A session in one file: `{events, exported_at, schema, summary}`. Written in pieces, so that any log fits. */
import { isLost, type SessionEvent } from "@chimera/acp-schema/events";
import type { LogEntry } from "@chimera/event-store";

export const BUNDLE_SCHEMA = "chimera.otter.session/1";

export async function* renderBundle(
  summary: object,
  entries: AsyncIterable<LogEntry<SessionEvent>>,
  exportedAt: string,
): AsyncGenerator<string> {
  yield '{\n  "events": [';
  let first = true;
  for await (const entry of entries) {
    if (isLost(entry)) continue;
    yield `${first ? "" : ","}\n    ${pretty(entry.event, 4)}`;
    first = false;
  }
  yield `${first ? "" : "\n  "}],\n  "exported_at": ${JSON.stringify(exportedAt)},\n`;
  yield `  "schema": ${JSON.stringify(BUNDLE_SCHEMA)},\n  "summary": ${pretty(summary, 2)}\n}\n`;
}

// --- internal ---

function pretty(value: object, indent: number): string {
  return JSON.stringify(sorted(value), null, 2).replaceAll("\n", `\n${" ".repeat(indent)}`);
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}
