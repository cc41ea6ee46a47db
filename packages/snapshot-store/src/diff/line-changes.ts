/**
 * Finds which lines of a text became which others. Lines that each text has exactly once serve as anchors (as in a patience
 * diff), so that only the short passages between them are compared for the smallest difference. The time grows with the size of
 * the texts, not with its square, and the search gives way to other work.
 */
import { diffArrays } from "diff";
import type { Pacer } from "../pacer.js";

/** The lines from `oldStart` to before `oldEnd` became those from `newStart` to before `newEnd`. */
export interface Change {
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly newStart: number;
  readonly newEnd: number;
}

/** A passage without anchors that is longer than this, or differs in more lines, counts as replaced whole. */
const MAX_PASSAGE = 20_000;
const MAX_EDITS = 200;
/** How often passages between anchors are searched for further anchors. */
const MAX_DEPTH = 4;
/** Lines between two looks at the clock. */
const STRETCH = 2048;

/**
 * The changes in order, with unchanged lines between any two.
 *
 * @example
 * const changes = await lineChanges(["a", "b"], ["a", "c"], createPacer());
 */
export async function lineChanges(old: readonly string[], now: readonly string[], pacer: Pacer): Promise<Change[]> {
  const changes: Change[] = [];
  const passages: Passage[] = [{ oldStart: 0, oldEnd: old.length, newStart: 0, newEnd: now.length, depth: 0 }];
  for (let passage = passages.pop(); passage; passage = passages.pop()) {
    const { depth, ...rest } = await trimmed(old, now, passage, pacer);
    if (rest.oldStart === rest.oldEnd && rest.newStart === rest.newEnd) continue;
    const oneSided = rest.oldStart === rest.oldEnd || rest.newStart === rest.newEnd;
    const anchors = oneSided || depth === MAX_DEPTH ? [] : await anchorsIn(old, now, rest, pacer);
    if (anchors.length > 0) for (const each of between(anchors, rest, depth + 1).reverse()) passages.push(each);
    else if (oneSided) changes.push(rest);
    else changes.push(...smallest(old, now, rest));
    await pacer.pause();
  }
  return changes;
}

// --- internal ---

type Passage = Change & { readonly depth: number };

interface Anchor {
  readonly old: number;
  readonly now: number;
}

/** The passage without the lines that both sides begin or end with. */
async function trimmed(
  old: readonly string[],
  now: readonly string[],
  passage: Passage,
  pacer: Pacer,
): Promise<Passage> {
  let { oldStart, oldEnd, newStart, newEnd } = passage;
  while (oldStart < oldEnd && newStart < newEnd && old[oldStart] === now[newStart]) {
    oldStart += 1;
    newStart += 1;
    if (oldStart % STRETCH === 0) await pacer.pause();
  }
  while (oldEnd > oldStart && newEnd > newStart && old[oldEnd - 1] === now[newEnd - 1]) {
    oldEnd -= 1;
    newEnd -= 1;
    if (oldEnd % STRETCH === 0) await pacer.pause();
  }
  return { ...passage, oldStart, oldEnd, newStart, newEnd };
}

/** The longest series of lines that each side has once and that have the same order in both. */
async function anchorsIn(
  old: readonly string[],
  now: readonly string[],
  { oldStart, oldEnd, newStart, newEnd }: Change,
  pacer: Pacer,
): Promise<Anchor[]> {
  const inOld = await onceIn(old, oldStart, oldEnd, pacer);
  const inNew = await onceIn(now, newStart, newEnd, pacer);
  const common: Anchor[] = [];
  for (const [line, at] of inOld) {
    const there = inNew.get(line);
    if (at >= 0 && there !== undefined && there >= 0) common.push({ old: at, now: there });
    if (common.length % STRETCH === 0) await pacer.pause();
  }
  return longestRise(common, pacer);
}

/** The index of each line; -1 for one that occurs more than once. */
async function onceIn(
  lines: readonly string[],
  start: number,
  end: number,
  pacer: Pacer,
): Promise<Map<string, number>> {
  const places = new Map<string, number>();
  for (let at = start; at < end; at += 1) {
    const line = lines[at] as string;
    places.set(line, places.has(line) ? -1 : at);
    if (at % STRETCH === 0) await pacer.pause();
  }
  return places;
}

/** The longest subsequence of the anchors, which are sorted by the old text, that is sorted by the new one, too. */
async function longestRise(anchors: readonly Anchor[], pacer: Pacer): Promise<Anchor[]> {
  /** The anchor that ends the best rise of each length so far, and the one before each anchor. */
  const ends: number[] = [];
  const before = new Int32Array(anchors.length);
  for (const [index, { now }] of anchors.entries()) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((anchors[ends[middle] as number] as Anchor).now < now) low = middle + 1;
      else high = middle;
    }
    before[index] = low === 0 ? -1 : (ends[low - 1] as number);
    ends[low] = index;
    if (index % STRETCH === 0) await pacer.pause();
  }
  const rise: Anchor[] = [];
  for (let at = ends.at(-1) ?? -1; at >= 0; at = before[at] as number) rise.push(anchors[at] as Anchor);
  return rise.reverse();
}

function between(anchors: readonly Anchor[], whole: Change, depth: number): Passage[] {
  const passages: Passage[] = [];
  let { oldStart, newStart } = whole;
  for (const anchor of [...anchors, { old: whole.oldEnd, now: whole.newEnd }]) {
    passages.push({ oldStart, oldEnd: anchor.old, newStart, newEnd: anchor.now, depth });
    oldStart = anchor.old + 1;
    newStart = anchor.now + 1;
  }
  return passages;
}

function smallest(old: readonly string[], now: readonly string[], passage: Change): Change[] {
  const { oldStart, oldEnd, newStart, newEnd } = passage;
  if (oldEnd - oldStart + newEnd - newStart > MAX_PASSAGE) return [passage];
  const parts = diffArrays(old.slice(oldStart, oldEnd), now.slice(newStart, newEnd), { maxEditLength: MAX_EDITS });
  if (parts === undefined) return [passage];
  const changes: Change[] = [];
  let at = { old: oldStart, now: newStart };
  let open = at;
  const close = () => {
    if (at.old > open.old || at.now > open.now)
      changes.push({ oldStart: open.old, oldEnd: at.old, newStart: open.now, newEnd: at.now });
  };
  for (const { added, removed, count } of parts) {
    if (added || removed) {
      at = { old: at.old + (removed ? count : 0), now: at.now + (added ? count : 0) };
      continue;
    }
    close();
    at = { old: at.old + count, now: at.now + count };
    open = at;
  }
  close();
  return changes;
}
