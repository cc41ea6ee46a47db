/** `sessions show`: a session's summary and its events. */
import { describeLost, isLost, lostNotice, type SessionRecord } from "@chimera/acp-schema/events";
import { asShown } from "@chimera/acp-schema/parts";
import type { Invocation } from "@chimera/host";
import stringWidth from "string-width";
import { requireOperand } from "../actions.js";
import { isSet } from "../flags.js";
import { printJson, printLines, styleFor } from "../output.js";
import { openStore, requireSummary } from "../store.js";
import type { Style } from "../terminal/style.js";
import { cut, plainLine } from "../terminal/text.js";

/** Of more than this only the number is shown, unless all are asked for. */
const FEW_EVENTS = 30;

export async function showSession(invocation: Invocation): Promise<number> {
  const { flags } = invocation;
  const id = requireOperand(invocation, "a session: sessions show <id>");
  const { store, pathOf } = await openStore(invocation);
  const summary = await requireSummary(store, id);
  const path = pathOf(id);
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

const LINE_WIDTH = 100;

/** An event on one line: its number, its type and what matters of it. */
function eventLine(record: SessionRecord, style: Style): string {
  const said = cut(plainLine(gistOf(record)), LINE_WIDTH, stringWidth);
  return `${String(record.seq).padStart(6)}  ${style.cyan(record.type.padEnd(20))}${said ? ` ${said}` : ""}`.trimEnd();
}

/** By the first of these that a record carries. */
const TELLING = ["text", "title", "error", "message", "output", "chunk", "path", "decision", "stop_reason", "new"];

function gistOf({ metadata }: SessionRecord): string {
  const fields = metadata as Readonly<Record<string, unknown>>;
  const found = TELLING.map((name) => fields[name]).find((value) => typeof value === "string" && value !== "");
  return typeof found === "string" ? found : Object.keys(fields).length > 0 ? JSON.stringify(fields) : "";
}
