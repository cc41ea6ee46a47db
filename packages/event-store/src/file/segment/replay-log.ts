import { setImmediate as nextTurn } from "node:timers/promises";
import { lastOf } from "../../backend/line.js";
import { batches, type Replay, type ReplayRange } from "../../backend/replay.js";
import type { EventBody, LogEntry } from "../../types.js";
import type { ChainSegment } from "./chain.js";
import type { LogFiles } from "./log-files.js";

type Take<E extends EventBody> = Parameters<Replay<E>>[1];

/** Makes a replay of a log's files. See `Replay`. */
export function replayOf<E extends EventBody>(log: LogFiles): Replay<E> {
  return async (range, wanted) => {
    const { files, segments } = log.chain();
    const take: Take<E> = (batch) => {
      const within = clip(batch, range);
      // The reader may leave while its page is read.
      return within.length === 0 || range.isOver?.() ? undefined : wanted(within);
    };
    for (const batch of batches(log.events<E>(files, range))) {
      await take(batch);
      // Event files are read synchronously, so other work gets its turn between two batches.
      await nextTurn();
      if (range.isOver?.()) return;
    }
    // A segment's name holds its first number, which decides where to begin.
    const begin = Math.max(
      0,
      segments.findLastIndex((segment) => segment.first <= range.from + 1),
    );
    const first = segments[begin]?.first ?? 0;
    const last = files.at(-1)?.seq ?? 0;
    if (first > last + 1) await take([{ type: "lost", seq: last + 1, last: first - 1, reason: "missing" }]);
    for (let i = begin; i < segments.length; i++) {
      const segment = segments[i]!;
      if (segment.first > range.to || range.isOver?.()) return;
      await replaySegment<E>(log, segment, segments[i + 1] ?? null, range, take);
    }
  };
}

// --- internal ---

async function replaySegment<E extends EventBody>(
  log: LogFiles,
  segment: ChainSegment,
  next: ChainSegment | null,
  range: ReplayRange,
  take: Take<E>,
): Promise<void> {
  const reader = log.open<E>(segment, next);
  try {
    while (reader.place !== null && reader.place.first <= range.to && !range.isOver?.()) {
      const step = await reader.next(({ entries }) => ({ taken: take(entries) }));
      await step?.taken;
    }
  } finally {
    await reader.close();
  }
}

function clip<E extends EventBody>(entries: readonly LogEntry<E>[], { from, to }: ReplayRange): readonly LogEntry<E>[] {
  const [first, last] = [entries[0], entries[entries.length - 1]];
  if (first === undefined || last === undefined || (first.seq > from && lastOf(last) <= to)) return entries;
  return entries.flatMap((entry) => {
    const seq = Math.max(entry.seq, from + 1);
    const end = Math.min(lastOf(entry), to);
    if (seq > end) return [];
    return "line" in entry ? entry : { ...entry, seq, last: end };
  });
}
