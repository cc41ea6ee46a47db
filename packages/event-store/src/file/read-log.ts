import { type FileHandle, open } from "node:fs/promises";
import { basename, join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { storageError } from "../errors.js";
import { batches } from "../record/batches.js";
import { addCounts, type Counts, countType, createCounts } from "../record/counts.js";
import type { Damage, Entry, EventBody } from "../types.js";
import { type ChainSegment, loadChain } from "./chain.js";
import { readEventFiles } from "./event-files.js";
import { nameLost } from "./name-lost.js";
import type { OpenFiles } from "./open-files.js";
import { createSegmentParser } from "./parse-segment.js";
import { readAhead } from "./read-ahead.js";

export interface ReadRange {
  readonly from: number;
  readonly to: number;
  readonly onDamage?: ((damage: Damage) => void) | undefined;
}

/** Reads a log's entries with from < seq <= to in batches of about 64 KiB. */
export async function* readLog<E extends EventBody>(
  directory: string,
  range: ReadRange,
  openFiles: OpenFiles,
): AsyncGenerator<readonly Entry<E>[]> {
  try {
    yield* readChain<E>(directory, range, openFiles);
  } catch (error) {
    throw storageError(error, `cannot read session ${basename(directory)}`);
  }
}

/** Records of each type up to `upTo`: the counts in a segment's header and a short scan. */
export async function countTypes(directory: string, upTo: number, openFiles: OpenFiles): Promise<Counts> {
  const { segments } = openFiles.withRoom(() => loadChain(directory));
  const base = segments.findLast((segment) => segment.header !== null && segment.first <= upTo + 1);
  const counts = createCounts(base?.header?.counts);
  const from = base === undefined ? 0 : base.first - 1;
  const onDamage = ({ types }: Damage): void => addCounts(counts, types);
  for await (const batch of readLog(directory, { from, to: upTo, onDamage }, openFiles)) {
    for (const entry of batch) countType(counts, entry.type);
  }
  return counts;
}

/** Flattens batches. Written out, since an async generator costs several times as much per entry. */
export function readEntries<E extends EventBody>(
  open: () => AsyncIterable<readonly Entry<E>[]>,
): AsyncIterable<Entry<E>> {
  return {
    [Symbol.asyncIterator]() {
      let source: AsyncIterator<readonly Entry<E>[]> | null = null;
      let batch: readonly Entry<E>[] = [];
      let at = 0;
      const fetchNext = async (): Promise<IteratorResult<Entry<E>>> => {
        source ??= open()[Symbol.asyncIterator]();
        const result = await source.next();
        if (result.done === true) return { done: true, value: undefined };
        batch = result.value;
        at = 1;
        return { done: false, value: batch[0]! };
      };
      return {
        next: () => (at < batch.length ? Promise.resolve({ done: false, value: batch[at++]! }) : fetchNext()),
        async return() {
          batch = [];
          await source?.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

// --- internal ---

/** The name of a segment tells where to begin. */
async function* readChain<E extends EventBody>(
  directory: string,
  range: ReadRange,
  openFiles: OpenFiles,
): AsyncGenerator<readonly Entry<E>[]> {
  const { files, segments, damage } = openFiles.withRoom(() => loadChain(directory));
  const report = (one: Damage): void => {
    const seen = within(one, range);
    if (seen !== null) range.onDamage?.(seen);
  };
  damage.forEach(report);
  for (const batch of batches(readEventFiles<E>(directory, files, range), report)) {
    yield batch;
    // Files are read at once, however many there are: others get their turn in between.
    await nextTurn();
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
    if (segment.first > range.to) return;
    const next = segments[i + 1] ?? null;
    yield* readSegment<E>(directory, segment, next, range, report, openFiles);
  }
}

async function* readSegment<E extends EventBody>(
  directory: string,
  segment: ChainSegment,
  next: ChainSegment | null,
  range: ReadRange,
  report: (damage: Damage) => void,
  openFiles: OpenFiles,
): AsyncGenerator<readonly Entry<E>[]> {
  let damage: Damage[] = [];
  const parser = createSegmentParser<E>({
    name: segment.name,
    first: segment.first,
    onDamage: (one) => damage.push(one),
  });
  let named: ((lost: Damage) => Damage) | null = null;
  const inOrder = async (file: FileHandle, entries: Entry<E>[]): Promise<Iterable<readonly Entry<E>[]>> => {
    const batch = clip(entries, range);
    if (damage.length === 0) return batch.length === 0 ? [] : [batch];
    const found = damage;
    damage = [];
    named ??= await nameLost(file, segment, next);
    return batches(merge(batch, found.map(named)), report);
  };
  const leave = await openFiles.replays.enter();
  try {
    const file = await openFiles.withRoomAsync(() => open(join(directory, segment.name), "r"));
    try {
      for await (const bytes of readAhead(file, segment.limit ?? Number.POSITIVE_INFINITY)) {
        yield* await inOrder(file, parser.push(bytes));
        if (parser.expected > range.to) return;
      }
      yield* await inOrder(file, next === null ? parser.finishLog().entries : parser.finishBefore(next.first));
    } finally {
      await file.close();
    }
  } finally {
    leave();
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
function within(damage: Damage, { from, to }: ReadRange): Damage | null {
  if (damage.seq === null || damage.last === null) return from === 0 ? damage : null;
  if (damage.last <= from || damage.seq > to) return null;
  if (damage.seq > from && damage.last <= to) return damage;
  // Which of its types are in the part is not known.
  return { ...damage, seq: Math.max(damage.seq, from + 1), last: Math.min(damage.last, to), types: {} };
}

function clip<E extends EventBody>(entries: Entry<E>[], { from, to }: ReadRange): readonly Entry<E>[] {
  const first = entries[0]?.seq ?? 0;
  const last = entries[entries.length - 1]?.seq ?? 0;
  return first > from && last <= to ? entries : entries.filter((entry) => entry.seq > from && entry.seq <= to);
}
