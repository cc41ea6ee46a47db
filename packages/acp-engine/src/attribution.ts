/**
 * Whose change it is. An engine writes files itself and a person may work beside it, so a change counts as the engine's only when one
 * of its calls names the file, or was at work on something that may write when the file changed.
 */
import { resolve } from "node:path";
import type { IsMine } from "@chimera/acp-schema/agent";
import { type CallState, isWriting } from "./call-state.js";

/** A file's time may be coarser than the clock, and a call is announced a little after it began. */
const SLACK_MS = 1000;

/** @param calls those of the turn, as they are when a change is judged. */
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
