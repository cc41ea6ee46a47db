/** The agent's edits that the person has not accepted or rejected yet, and the text of a file without them. */
import { applyPatch, parsePatch, reversePatch } from "diff";

export interface FileEdit {
  readonly path: string;
  readonly diff: string;
  readonly change: "add" | "update" | "delete";
}

export function createEdits() {
  const open = new Map<string, FileEdit[]>();
  return {
    add(edit: FileEdit) {
      open.set(edit.path, [...(open.get(edit.path) ?? []), edit]);
    },
    get paths() {
      return [...open.keys()];
    },
    /** The lines, from 0, at which the edits of a file begin. */
    linesOf(path: string) {
      const starts = (open.get(path) ?? []).flatMap(({ diff }) =>
        (patchOf(diff)?.hunks ?? []).map(({ newStart, lines }) => Math.max(0, newStart - 1 + leading(lines))),
      );
      return [...new Set(starts)].sort((a, b) => a - b);
    },
    accept: (path: string) => void open.delete(path),
    /**
     * The text of a file before its edits, given its present text. Null if the file did not exist; undefined if it was changed in the
     * same place since, or if an edit was too large to describe.
     */
    without(path: string, text: string) {
      const edits = open.get(path) ?? [];
      let now: string | null = text;
      for (const { diff, change } of edits.toReversed()) {
        const patch = patchOf(diff);
        const before: string | false = patch !== null && applyPatch(now ?? "", reversePatch(patch));
        // Keep a new file to which the person has added text.
        if (before === false || (change === "add" && before !== "")) return undefined;
        now = change === "add" ? null : before;
      }
      return now;
    },
  };
}

// --- internal ---

type Patch = ReturnType<typeof parsePatch>[number];

/** Parses a diff; null for one without hunks, which means that the change was too large. */
function patchOf(diff: string): Patch | null {
  const [patch] = parsePatch(diff);
  return patch && patch.hunks.length > 0 ? patch : null;
}

/** The lines of a hunk before its first change. */
function leading(lines: readonly string[]): number {
  const at = lines.findIndex((line) => !line.startsWith(" "));
  return Math.max(0, at);
}
