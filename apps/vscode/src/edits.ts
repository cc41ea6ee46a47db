/** The agent's edits that nobody has accepted or rejected yet, by file, and the text of a file without them. */
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
    /** Lines, counted from 0, at which the edits of a file begin. */
    linesOf(path: string) {
      const starts = (open.get(path) ?? []).flatMap(({ diff }) =>
        (patchOf(diff)?.hunks ?? []).map(({ newStart, lines }) => Math.max(0, newStart - 1 + leading(lines))),
      );
      return [...new Set(starts)].sort((a, b) => a - b);
    },
    accept: (path: string) => void open.delete(path),
    /**
     * The file as it was before its edits, given what it holds now: null where there was none, undefined where the file was changed
     * since in the same place, or an edit was too large to be described.
     */
    without(path: string, text: string) {
      const edits = open.get(path) ?? [];
      let now: string | null = text;
      for (const { diff, change } of edits.toReversed()) {
        const patch = patchOf(diff);
        const before: string | false = patch !== null && applyPatch(now ?? "", reversePatch(patch));
        // A new file that a person wrote into holds their work, and stays.
        if (before === false || (change === "add" && before !== "")) return undefined;
        now = change === "add" ? null : before;
      }
      return now;
    },
  };
}

// --- internal ---

type Patch = ReturnType<typeof parsePatch>[number];

/** A description without a hunk says that the change was too large. */
function patchOf(diff: string): Patch | null {
  const [patch] = parsePatch(diff);
  return patch && patch.hunks.length > 0 ? patch : null;
}

/** The lines of a hunk before its first change. */
function leading(lines: readonly string[]): number {
  const at = lines.findIndex((line) => !line.startsWith(" "));
  return Math.max(0, at);
}
