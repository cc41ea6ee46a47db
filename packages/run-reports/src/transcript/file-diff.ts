import type { FileDiff } from "./block.js";

const CONTEXT = 3;

/** The lines of a unified diff without its file headers. */
export function parsePatch(path: string, patch: string): FileDiff {
  const lines = patch.split("\n");
  const first = lines.findIndex((line) => line.startsWith("@@"));
  if (lines.at(-1) === "") lines.pop();
  return { path, lines: first < 0 ? lines : lines.slice(first) };
}

/** The change as a single hunk from the first to the last line that differs, which is fast for any input. */
export function compareTexts(path: string, before: string | null, after: string): FileDiff {
  const old = before === null ? [] : toLines(before);
  const now = toLines(after);
  const most = Math.min(old.length, now.length);
  let head = 0;
  while (head < most && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < most - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  if (head === old.length && head === now.length) return { path, lines: [] };
  const from = Math.max(0, head - CONTEXT);
  const shown = Math.min(CONTEXT, tail);
  const oldEnd = old.length - tail;
  const nowEnd = now.length - tail;
  const prefixed = (sign: string, lines: readonly string[]) => lines.map((line) => `${sign}${line}`);
  return {
    path,
    lines: [
      `@@ -${from + 1},${oldEnd + shown - from} +${from + 1},${nowEnd + shown - from} @@`,
      ...prefixed(" ", old.slice(from, head)),
      ...prefixed("-", old.slice(head, oldEnd)),
      ...prefixed("+", now.slice(head, nowEnd)),
      ...prefixed(" ", now.slice(nowEnd, nowEnd + shown)),
    ],
  };
}

/** Counts added and removed lines. */
export function countChanges({ lines }: FileDiff): { added: number; removed: number } {
  let added = 0;
  let removed = 0;
  for (const line of lines) {
    if (line.startsWith("+")) added++;
    else if (line.startsWith("-")) removed++;
  }
  return { added, removed };
}

// --- internal ---

function toLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
