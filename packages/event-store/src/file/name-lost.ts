import { type Counts, countType, createCounts } from "../record/counts.js";
import type { Damage, EventBody } from "../types.js";
import type { ChainSegment } from "./chain.js";
import type { LogFiles } from "./log-files.js";
import type { Page } from "./page.js";

/**
 * Says of which types the records lost in a segment were: what is left of their lines tells it, and where those are silent the
 * counts in the headers before and behind them.
 */
export async function nameLost(
  log: LogFiles,
  segment: ChainSegment,
  next: ChainSegment | null,
): Promise<(lost: Damage) => Damage> {
  if (segment.header === null || next === null || next.header === null) return (lost) => lost;
  const runs: Run[] = [];
  const readable = createCounts(segment.header.counts);
  const reader = log.open(segment, next);
  const note = ({ entries, damage }: Page<EventBody>): void => {
    for (const entry of entries) countType(readable, entry.type);
    for (const { seq, last, types = {} } of damage) {
      if (seq !== null && last !== null) runs.push({ seq, room: last - seq + 1, told: types, types: createCounts() });
    }
  };
  try {
    while (reader.place !== null) await reader.next(note);
  } finally {
    await reader.close();
  }
  shareOut(runs, next.header.counts, readable);
  const bySeq = new Map(runs.map((run) => [run.seq, run.types]));
  return (lost) => (lost.seq === null ? lost : { ...lost, types: bySeq.get(lost.seq) ?? {} });
}

// --- internal ---

/** Records in a row that are lost. */
interface Run {
  readonly seq: number;
  /** How many of them have no type yet. */
  room: number;
  /** What their lines still say. */
  readonly told: Readonly<Counts>;
  readonly types: Counts;
}

/** What the counts behind the segment have above the readable records goes to the runs: to those that claim it, then in order. */
function shareOut(runs: readonly Run[], behind: Readonly<Counts>, readable: Readonly<Counts>): void {
  const left = createCounts(behind);
  for (const type of Object.keys(left)) left[type] = Math.max(0, left[type]! - (readable[type] ?? 0));
  const give = (run: Run, type: string, count: number): void => {
    const given = Math.min(count, run.room, left[type] ?? 0);
    if (given === 0) return;
    run.types[type] = (run.types[type] ?? 0) + given;
    run.room -= given;
    left[type]! -= given;
  };
  for (const run of runs) for (const [type, count] of Object.entries(run.told)) give(run, type, count);
  const types = Object.keys(left);
  let at = 0;
  for (const run of runs) {
    for (; run.room > 0 && at < types.length; at++) {
      give(run, types[at]!, run.room);
      if (left[types[at]!]! > 0) break;
    }
  }
}
