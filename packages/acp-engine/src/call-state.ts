/** A call as it is known so far, from what its engine says of it in whichever form, and the files that it changed. */

import { resolve } from "node:path";
import type { ToolCallUpdate } from "@chimera/acp-schema";
import type { IsMine } from "@chimera/acp-schema/agent";
import type { Location, ToolContent, ToolKind } from "@chimera/acp-schema/events";

export interface CallState {
  readonly id: string;
  tool: string;
  kind: ToolKind;
  title: string;
  args: Record<string, unknown>;
  locations: Location[];
  /** Paths that its diffs name. */
  readonly diffs: Set<string>;
  /** Whether the engine asked about it. */
  asked: boolean;
  readonly startedAt: number;
  endedAt: number | null;
  /** What it has said so far. */
  text: string;
  content: ToolContent[];
}

/** Whether a call may change something. */
export function isWriting({ kind }: Pick<CallState, "kind">): boolean {
  return !READERS.has(kind);
}

/** A call that may write and that nobody was asked about. */
export function isUnasked(call: CallState): boolean {
  return isWriting(call) && !call.asked;
}

export function argsOf(raw: unknown): Record<string, unknown> {
  if (raw === undefined || raw === null) return {};
  return typeof raw === "object" && !Array.isArray(raw) ? (raw as Record<string, unknown>) : { input: raw };
}

export function locationsOf(
  locations: readonly { path: string; line?: number | null | undefined }[] | null | undefined,
): Location[] {
  return (locations ?? []).map(({ path, line }) => (line == null ? { path } : { path, line }));
}

export function contentOf(content: NonNullable<ToolCallUpdate["content"]>): {
  text: string;
  shown: ToolContent[];
} {
  const texts: string[] = [];
  const shown = content.flatMap((item): ToolContent[] => {
    if (item.type === "diff")
      return [{ type: "diff", path: item.path, old_text: item.oldText ?? null, new_text: item.newText }];
    // Terminals are not offered, so this is a name that nobody here can show.
    if (item.type !== "content") return [];
    if (item.content.type !== "text") return [{ type: "block", block: item.content }];
    texts.push(item.content.text);
    return [];
  });
  return { text: texts.join("\n"), shown };
}

/** Output of a command that some agents send beside the content: what was added. */
export function terminalText(call: ToolCallUpdate): string {
  const output = (call as { _meta?: { terminal_output?: { data?: unknown } } })._meta?.terminal_output;
  return typeof output?.data === "string" ? output.data : "";
}

export function outputOf(raw: unknown): string {
  if (typeof raw === "string") return raw;
  if (typeof raw !== "object" || raw === null) return "";
  for (const key of ["output", "formatted_output", "stdout", "aggregated_output", "text"]) {
    const value = (raw as Record<string, unknown>)[key];
    if (typeof value === "string" && value !== "") return value;
  }
  return JSON.stringify(raw);
}

const READERS: ReadonlySet<ToolKind> = new Set(["read", "search", "think", "fetch", "switch_mode"]);

/** A file's time may be coarser than the clock, and a call is announced a little after it began. */
const SLACK_MS = 1000;

/**
 * Says whose change it is. An engine writes files itself and a person may work beside it, so a change counts as the engine's only when
 * one of its calls names the file, or was at work on something that may write when the file changed.
 *
 * @param calls those of the turn, as they are when a change is judged.
 */
export function createAttribution(cwd: string, calls: () => Iterable<CallState>): IsMine {
  return (path, changedAt) => {
    for (const call of calls()) {
      if (!isWriting(call)) continue;
      const named = [...call.diffs, ...call.locations.map((location) => location.path)];
      if (named.some((name) => resolve(cwd, name) === path)) return true;
      // What is gone does not tell when it went.
      if (changedAt === null) return true;
      const isDuring = changedAt >= call.startedAt - SLACK_MS && changedAt <= (call.endedAt ?? Infinity) + SLACK_MS;
      if (isDuring) return true;
    }
    return false;
  };
}
