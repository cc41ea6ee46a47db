import { isLost, type Lost, lostNotice, type SessionRecord } from "@chimera/acp-schema/events";

/**
 * `{session_id, summary, events}`, indented by two, one event at a time; where records are lost a notice stands, as it does over
 * HTTP.
 */
export async function* renderJson(
  id: string,
  summary: unknown,
  records: AsyncIterable<SessionRecord | Lost>,
): AsyncGenerator<string> {
  yield `{\n  "session_id": ${JSON.stringify(id)},\n  "summary": ${indent(summary, "  ")},\n  "events": [`;
  let separator = "\n    ";
  for await (const record of records) {
    yield separator + indent(isLost(record) ? lostNotice(record) : record, "    ");
    separator = ",\n    ";
  }
  yield separator.startsWith(",") ? "\n  ]\n}\n" : "]\n}\n";
}

// --- internal ---

/** JSON text holds a newline only between tokens, so that indenting every line changes no value. */
function indent(value: unknown, by: string): string {
  return JSON.stringify(value, null, 2).replaceAll("\n", `\n${by}`);
}
