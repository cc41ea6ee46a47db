import { startOf } from "@chimera/acp-schema/text";
import { sessionPrefix } from "@chimera/event-store";
import { fieldsOf, numberOr, textOf } from "./fields.js";

const LONGEST_TITLE = 120;

export type Heading = ReturnType<typeof headingOf>;

/** The heading of a transcript, for every format. */
export function headingOf(id: string, summary: unknown) {
  const fields = fieldsOf(summary);
  const prompt = textOf(fields["prompt"]);
  const prefix = /^[a-z0-9]+/i.exec(sessionPrefix(id))?.[0] ?? "";
  const rows: [string, string][] = [
    ["model", textOf(fields["model"])],
    ["started", textOf(fields["started_at"])],
    ["ended", textOf(fields["ended_at"])],
    ["steps", String(numberOr(fields["steps"], 0))],
    ["tool calls", String(numberOr(fields["tool_calls_total"], 0))],
    ["cost (USD)", numberOr(fields["cost_usd"], 0).toFixed(6)],
    ["success", String(fields["success"] === true)],
  ];
  if (textOf(fields["error"]) !== "") rows.push(["error", textOf(fields["error"])]);
  return {
    /** The program's name, such as `Otter`, from the prefix of the id. */
    program: prefix.charAt(0).toUpperCase() + prefix.slice(1),
    id,
    /** The session's title, or the first line of its prompt, or its id. */
    title: shorten(textOf(fields["title"]).trim() || prompt.trim().split("\n")[0] || id),
    prompt,
    rows,
  };
}

// --- internal ---

function shorten(text: string): string {
  return text.length <= LONGEST_TITLE ? text : `${startOf(text, LONGEST_TITLE - 1).trimEnd()}…`;
}
