/** Collects what an engine reports about a call, in all its forms, and decides which file changes are the engine's. */

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
  /** The paths in its diffs. */
  readonly diffs: Set<string>;
  /** Whether the engine asked for permission. */
  asked: boolean;
  readonly startedAt: number;
  endedAt: number | null;
  /** Its output so far. */
  text: string;
  content: ToolContent[];
}

/** Whether a call may change something. */
export function isWriting({ kind }: Pick<CallState, "kind">): boolean {
  return !READERS.has(kind);
}

/** Whether the call may write and the engine did not ask for permission. */
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
    // The engine was not offered terminals, so nothing here can show this one.
    if (item.type !== "content") return [];
    if (item.content.type !== "text") return [{ type: "block", block: item.content }];
    texts.push(item.content.text);
    return [];
  });
  return { text: texts.join("\n"), shown };
}

/** New output of a command, which some agents send beside the content. */
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

/** File times may be coarser than the clock, and an engine announces a call a little after it began. */
const SLACK_MS = 1000;

/**
 * Decides whether the engine changed a file. An engine writes files itself and a person may work at the same time, so a change counts as
 * the engine's only if one of its writing calls names the file or was running when the file changed.
 *
 * @param calls returns the calls of the turn whenever a change is judged.
 */
export function createAttribution(cwd: string, calls: () => Iterable<CallState>): IsMine {
  return (path, changedAt) => {
    for (const call of calls()) {
      if (!isWriting(call)) continue;
      const named = [...call.diffs, ...call.locations.map((location) => location.path)];
      if (named.some((name) => resolve(cwd, name) === path)) return true;
      // A deleted file does not show when it was deleted.
      if (changedAt === null) return true;
      const isDuring = changedAt >= call.startedAt - SLACK_MS && changedAt <= (call.endedAt ?? Infinity) + SLACK_MS;
      if (isDuring) return true;
    }
    return false;
  };
}
