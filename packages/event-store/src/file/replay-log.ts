import { setImmediate as nextTurn } from "node:timers/promises";
import { batches } from "../record/batches.js";
import { addCounts, type Counts, countType, createCounts } from "../record/counts.js";
import type { Replay, ReplayRange } from "../replay.js";
import type { Damage, Entry, EventBody } from "../types.js";
import type { ChainSegment } from "./chain.js";
import type { LogFiles } from "./log-files.js";
import { nameLost } from "./name-lost.js";
import type { Page } from "./page.js";

/** Hands over a log's entries in batches of about 64 KiB, each when the one before was taken. */
export function replayOf<E extends EventBody>(log: LogFiles): Replay<E> {
  return (range, take) => replayChain<E>(log, range, take);
}

/** Records of each type up to `upTo`: the counts in a segment's header and a short scan. */
export async function countTypes(log: LogFiles, upTo: number): Promise<Counts> {
  const { segments } = log.chain();
  const base = segments.findLast((segment) => segment.header !== null && segment.first <= upTo + 1);
  const counts = createCounts(base?.header?.counts);
  const from = base === undefined ? 0 : base.first - 1;
  const onDamage = ({ types }: Damage): void => addCounts(counts, types);
  await replayOf(log)({ from, to: upTo, onDamage }, (batch) => {
    for (const entry of batch) countType(counts, entry.type);
  });
  return counts;
}

// --- internal ---

type Take<E extends EventBody> = Parameters<Replay<E>>[1];

/** The name of a segment tells where to begin. */
async function replayChain<E extends EventBody>(log: LogFiles, range: ReplayRange, wanted: Take<E>): Promise<void> {
  const { files, segments, damage } = log.chain();
  // A reader may leave while a page is read for it, or between the batches of one that damage has cut in pieces.
  const take: Take<E> = (batch) => (range.isOver?.() ? undefined : wanted(batch));
  const report = (one: Damage): void => {
    const seen = range.isOver?.() ? null : within(one, range);
    if (seen !== null) range.onDamage?.(seen);
  };
  damage.forEach(report);
  for (const batch of batches(log.events<E>(files, range), report)) {
    await take(batch);
    // Files are read at once, however many there are: others get their turn in between.
    await nextTurn();
    if (range.isOver?.()) return;
  }
  const begin = Math.max(
    0,
    segments.findLastIndex((segment) => segment.first <= range.from + 1),
  );
  const first = segments[begin];
  const last = files.at(-1)?.seq ?? 0;
  if (first !== undefined && first.first > last + 1) {
    const types = files.length === 0 ? (first.header?.counts ?? {}) : {};
    report({ seq: last + 1, last: first.first - 1, where: first.name, reason: "missing", types });
  }
  for (let i = begin; i < segments.length; i++) {
    const segment = segments[i]!;
    if (segment.first > range.to || range.isOver?.()) return;
    await replaySegment<E>(log, segment, segments[i + 1] ?? null, range, report, take);
  }
}

async function replaySegment<E extends EventBody>(
  log: LogFiles,
  segment: ChainSegment,
  next: ChainSegment | null,
  range: ReplayRange,
  report: (damage: Damage) => void,
  take: Take<E>,
): Promise<void> {
  const reader = log.open<E>(segment, next);
  let named: ((lost: Damage) => Damage) | null = null;
  const takeDamaged = async (entries: readonly Entry<E>[], damage: readonly Damage[]): Promise<void> => {
    named ??= await nameLost(log, segment, next);
    for (const batch of batches(merge(entries, damage.map(named)), report)) await take(batch);
  };
  const takePage = ({ entries, damage }: Page<E>): { readonly taken: void | Promise<void> } => {
    const wanted = clip(entries, range);
    if (damage.length > 0) return { taken: takeDamaged(wanted, damage) };
    return { taken: wanted.length > 0 ? take(wanted) : undefined };
  };
  try {
    while (reader.place !== null && reader.place.first <= range.to && !range.isOver?.()) {
      const step = await reader.next(takePage);
      await step?.taken;
    }
  } finally {
    await reader.close();
  }
}

/** Each damage before the first entry behind it. Both are in order already. */
function* merge<E extends EventBody>(
  entries: readonly Entry<E>[],
  damage: readonly Damage[],
): Generator<Entry<E> | Damage> {
  let at = 0;
  for (const one of damage) {
    while (at < entries.length && one.seq !== null && entries[at]!.seq < one.seq) yield entries[at++]!;
    yield one;
  }
  while (at < entries.length) yield entries[at++]!;
}

/** What of a damage a reader of the range has to know; null when it is none of its business. */
function within(damage: Damage, { from, to }: ReplayRange): Damage | null {
  if (damage.seq === null || damage.last === null) return from === 0 ? damage : null;
  if (damage.last <= from || damage.seq > to) return null;
  if (damage.seq > from && damage.last <= to) return damage;
  // Which of its types are in the part is not known.
  return { ...damage, seq: Math.max(damage.seq, from + 1), last: Math.min(damage.last, to), types: {} };
}

function clip<E extends EventBody>(entries: readonly Entry<E>[], { from, to }: ReplayRange): readonly Entry<E>[] {
  const first = entries[0]?.seq ?? 0;
  const last = entries[entries.length - 1]?.seq ?? 0;
  return first > from && last <= to ? entries : entries.filter((entry) => entry.seq > from && entry.seq <= to);
}
