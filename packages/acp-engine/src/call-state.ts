/** What is known of a call that an engine reports, and which file changes are the engine's. */

import { resolve } from "node:path";
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
  /** How many characters of output were shown while it ran. */
  shown: number;
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
