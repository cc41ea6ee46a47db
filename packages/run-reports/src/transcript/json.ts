import type { SessionRecord } from "@chimera/acp-schema/events";
import type { Loss } from "@chimera/acp-schema/http";
import { describeLoss } from "@chimera/event-store";

/**
 * `{session_id, summary, events}`, indented by two, one event at a time; where records are lost a notice stands, as it does over
 * HTTP. `upTo` is the last record's number, where that is known.
 */
export async function* renderJson(
  id: string,
  summary: unknown,
  records: AsyncIterable<SessionRecord>,
  upTo = 0,
): AsyncGenerator<string> {
  yield `{\n  "session_id": ${JSON.stringify(id)},\n  "summary": ${indent(summary, "  ")},\n  "events": [`;
  let separator = "\n    ";
  for await (const event of withLosses(records, upTo)) {
    yield separator + indent(event, "    ");
    separator = ",\n    ";
  }
  yield separator.startsWith(",") ? "\n  ]\n}\n" : "]\n}\n";
}

// --- internal ---

async function* withLosses(records: AsyncIterable<SessionRecord>, upTo: number): AsyncGenerator<SessionRecord | Loss> {
  let last = 0;
  for await (const record of records) {
    if (record.seq > last + 1) yield lossOf(last + 1, record.seq - 1);
    last = record.seq;
    yield record;
  }
  if (upTo > last) yield lossOf(last + 1, upTo);
}

function lossOf(first: number, last: number): Loss {
  const metadata = { level: "error", text: describeLoss(first, last) } as const;
  return { type: "notice", turn: null, metadata, missing: { first, last } };
}

/** JSON text holds a newline only between tokens, so that indenting every line changes no value. */
function indent(value: unknown, by: string): string {
  return JSON.stringify(value, null, 2).replaceAll("\n", `\n${by}`);
}
