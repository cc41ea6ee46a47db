/** `sessions show`: a session's summary, and its conversation as a terminal shows it. */
import { describeLost, isLost, lostNotice } from "@chimera/acp-schema/events";
import { asShown } from "@chimera/acp-schema/parts";
import type { Invocation } from "@chimera/host";
import { requireOperand } from "../actions.js";
import { createView } from "../conversation/view.js";
import { isSet } from "../flags.js";
import { printJson, printLines, styleFor } from "../output.js";
import { meantId, type OpenStore, requireSummary, withStore } from "../store.js";
import { localTime, plainLine } from "../terminal/text.js";

export async function showSession(invocation: Invocation): Promise<number> {
  const typed = requireOperand(invocation, "a session: sessions show <id>");
  await withStore(invocation, (opened) => show(invocation, opened, typed));
  return 0;
}

// --- internal ---

async function show(invocation: Invocation, { store, pathOf }: OpenStore, typed: string): Promise<void> {
  const { flags, process } = invocation;
  const id = await meantId(store, typed);
  const summary = await requireSummary(store, id);
  const path = pathOf(id);
  if (isSet(flags, "json", "sessions")) {
    const events: object[] = [];
    for await (const entry of store.read(id)) events.push(isLost(entry) ? lostNotice(entry) : asShown(entry.event));
    return printJson(invocation, { session_id: id, path, summary, events });
  }
  const style = styleFor(invocation);
  printLines(invocation, [...describeSummary({ ...summary, session_id: id, path }, style.dim), ""]);
  const view = createView({
    style,
    print: (text) => void process.stdout.write(text),
    width: () => process.stdout.columns,
    clock: Date.now,
    settings: () => null,
    more: isSet(flags, "full") ? null : "--full",
  });
  for await (const entry of store.read(id)) {
    if (isLost(entry)) printLines(invocation, [style.red(describeLost(entry))]);
    else view.apply(asShown(entry.event));
  }
  view.end();
}

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
    const text = field.endsWith("_at") ? localTime(String(value)) : plainLine(String(value));
    const shown = field === "cost_usd" ? `$${Number(value).toFixed(6)}` : text;
    return [`${dim(label.padEnd(width))}  ${shown}`];
  });
}
