/** A file's change as lines: from two texts, or from the unified text that the API gives. */

export interface DiffLine {
  readonly type: "same" | "add" | "remove" | "skip";
  readonly text: string;
  readonly before: number | null;
  readonly after: number | null;
}

/** Lines around a change that are shown with it. */
const CONTEXT = 3;
/** Pairs of lines that are compared; where there are more, the passage is shown as replaced. */
const PAIRS = 1_000_000;

export function diffTexts(before: string | null, after: string): DiffLine[] {
  const [old, now] = [linesOf(before ?? ""), linesOf(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const middle = compare(old.slice(start, old.length - end), now.slice(start, now.length - end));
  const all = [...old.slice(0, start).map(same), ...middle, ...old.slice(old.length - end).map(same)];
  return withContext(numbered(all, 1, 1));
}

export function parseUnified(diff: string): DiffLine[] {
  const lines: DiffLine[] = [];
  let [before, after] = [0, 0];
  for (const line of linesOf(diff)) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (hunk) {
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      lines.push({ type: "skip", text: line, before: null, after: null });
    } else if (before > 0 || after > 0) {
      const type = TYPES[line.charAt(0)];
      if (!type) continue;
      lines.push(...numbered([{ type, text: line.slice(1) }], before, after));
      if (type !== "add") before++;
      if (type !== "remove") after++;
    }
  }
  return lines;
}

/** How many lines come and go. */
export function countChanges(lines: readonly DiffLine[]): { added: number; removed: number } {
  const count = (type: string) => lines.filter((line) => line.type === type).length;
  return { added: count("add"), removed: count("remove") };
}

// --- internal ---

type Change = Pick<DiffLine, "type" | "text">;

const TYPES: Readonly<Record<string, DiffLine["type"]>> = { " ": "same", "+": "add", "-": "remove", "": "same" };

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

const same = (text: string): Change => ({ type: "same", text });

/** The longest common subsequence, where that is cheap enough. */
function compare(old: readonly string[], now: readonly string[]): Change[] {
  const remove = (text: string): Change => ({ type: "remove", text });
  const add = (text: string): Change => ({ type: "add", text });
  const width = now.length + 1;
  if (old.length * now.length > PAIRS || old.length === 0 || now.length === 0) {
    return [...old.map(remove), ...now.map(add)];
  }
  const lengths = new Uint32Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      const isSame = old[i] === now[j];
      lengths[i * width + j] = isSame
        ? lengths[(i + 1) * width + j + 1]! + 1
        : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  const changes: Change[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      changes.push(same(old[i++]!));
      j++;
    } else if (j >= now.length || (i < old.length && lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)) {
      changes.push(remove(old[i++]!));
    } else changes.push(add(now[j++]!));
  }
  return changes;
}

function numbered(changes: readonly Change[], before: number, after: number): DiffLine[] {
  let [old, now] = [before, after];
  return changes.map(({ type, text }) => ({
    type,
    text,
    before: type === "add" ? null : old++,
    after: type === "remove" ? null : now++,
  }));
}

function withContext(lines: readonly DiffLine[]): DiffLine[] {
  const shown = new Set<number>();
  for (const [at, { type }] of lines.entries()) {
    if (type === "same") continue;
    for (let i = at - CONTEXT; i <= at + CONTEXT; i++) shown.add(i);
  }
  const kept: DiffLine[] = [];
  for (const [at, line] of lines.entries()) {
    if (!shown.has(at)) continue;
    if (at > 0 && !shown.has(at - 1)) kept.push({ type: "skip", text: "…", before: null, after: null });
    kept.push(line);
  }
  return kept;
}
