/** `sessions show`: a session's summary and its events. */
import { join } from "node:path";
import { describeLost, isLost, lostNotice } from "@chimera/acp-schema/events";
import { asShown } from "@chimera/acp-schema/parts";
import type { Invocation } from "@chimera/host";
import { requireOperand } from "../actions.js";
import { isSet } from "../flags.js";
import { printJson, printLines, styleFor } from "../output.js";
import { openStore, requireSummary } from "../store.js";
import { plainLine } from "../terminal/plain.js";
import { eventLine } from "./event-line.js";

/** Of more than this only the number is shown, unless all are asked for. */
const FEW_EVENTS = 30;

export async function showSession(invocation: Invocation): Promise<number> {
  const { flags } = invocation;
  const id = requireOperand(invocation, "a session: sessions show <id>");
  const { store, paths } = openStore(invocation);
  const summary = await requireSummary(store, id);
  const path = join(paths.eventlog, id);
  if (isSet(flags, "json", "sessions")) {
    const events: object[] = [];
    for await (const entry of store.read(id)) events.push(isLost(entry) ? lostNotice(entry) : asShown(entry.event));
    printJson(invocation, { session_id: id, path, summary, events });
    return 0;
  }
  const style = styleFor(invocation);
  printLines(invocation, describeSummary({ ...summary, session_id: id, path }, style.dim));
  const most = isSet(flags, "full") ? Number.POSITIVE_INFINITY : FEW_EVENTS;
  let count = 0;
  printLines(invocation, [""]);
  for await (const entry of store.read(id)) {
    if (isLost(entry)) {
      if (count < most) printLines(invocation, [style.red(describeLost(entry))]);
      continue;
    }
    count++;
    if (count <= most) printLines(invocation, [eventLine(asShown(entry.event), style)]);
  }
  if (count > most) printLines(invocation, [style.dim(`… ${count - most} more events; --full shows them`)]);
  return 0;
}

// --- internal ---

const LABELS: readonly (readonly [label: string, field: string])[] = [
  ["session", "session_id"],
  ["title", "title"],
  ["prompt", "prompt"],
  ["model", "model"],
  ["cwd", "cwd"],
  ["started", "started_at"],
  ["ended", "ended_at"],
  ["turns", "turns"],
  ["steps", "steps"],
  ["tool calls", "tool_calls_total"],
  ["tokens", "total_tokens"],
  ["cost", "cost_usd"],
  ["success", "success"],
  ["error", "error"],
  ["perm-mode", "permission_mode"],
  ["sandbox", "sandbox"],
  ["approval", "approval"],
  ["parent", "parent_id"],
  ["path", "path"],
];

function describeSummary(fields: Readonly<Record<string, unknown>>, dim: (text: string) => string): string[] {
  const width = Math.max(...LABELS.map(([label]) => label.length));
  return LABELS.flatMap(([label, field]) => {
    const value = fields[field];
    if (value === undefined || value === null || value === "") return [];
    const shown = field === "cost_usd" ? `$${Number(value).toFixed(6)}` : plainLine(String(value));
    return [`${dim(label.padEnd(width))}  ${shown}`];
  });
}
