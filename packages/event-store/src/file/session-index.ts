import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { LIMITS } from "../limits.js";
import { isStorableId } from "../session-id.js";
import type { ListedSession } from "../types.js";
import { createDirectoryView } from "./directory-view.js";
import { readIndexFile, writeIndexFile } from "./index-file.js";
import { readRegular } from "./regular-file.js";
import { loadChain } from "./segment/chain.js";
import { asSummary, parseSummary } from "./summaries.js";

/**
 * The summaries of all sessions, so that a list does not open each one. Every use is checked against the summary file's
 * inode, size and time: the index is a copy that may be thrown away, never the truth.
 */
export interface SessionIndex<S> {
  /** Every session directory. */
  ids(): readonly string[];
  /** Epoch milliseconds of a summary's last write; null without one. `checked`: the rows were just refreshed. */
  touched(id: string, checked: boolean): number | null;
  /** The row of a session; null without a readable summary. */
  row(id: string, checked: boolean, onUnreadable?: (id: string) => void): ListedSession<S> | null;
  /** Brings the rows of all sessions up to date, giving way to other work in between, and saves them when much changed. */
  refresh(ids: readonly string[]): Promise<void>;
}

interface Row<S> {
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
  /** Its JSON until somebody asks for it; null when that is no object. */
  summary: S | string | null;
}

const INDEX_NAME = "index.ndjson";
/** Rows checked between two turns of the event loop: about a millisecond of work. */
const SLICE = 200;

export function createSessionIndex<S extends object>(directory: string): SessionIndex<S> {
  const path = join(directory, INDEX_NAME);
  let rows: Map<string, Row<S>> | null = null;
  let changed = 0;
  const names = createDirectoryView(directory, () =>
    readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== INDEX_NAME && isStorableId(entry.name))
      .map((entry) => entry.name),
  );

  const loaded = (): Map<string, Row<S>> => {
    rows ??= loadRows<S>(path);
    return rows;
  };

  const current = (id: string): Row<S> | undefined => {
    const before = loaded().get(id);
    // Not `join`, which costs as much as the call it is for: an id holds nothing that needs it.
    const row = readRow<S>(`${directory}/${id}/summary.json`, before);
    if (row === before) return row;
    if (row !== undefined) loaded().set(id, row);
    else loaded().delete(id);
    changed++;
    return row;
  };

  const save = (): void => {
    if (changed < Math.max(SLICE, loaded().size / 20)) return;
    try {
      writeIndexFile(path, linesOf(loaded()));
      changed = 0;
    } catch {
      // Without the file the next process reads the summaries once more.
    }
  };

  const find = (id: string, checked: boolean): Row<S> | undefined => (checked ? loaded().get(id) : current(id));

  return {
    ids() {
      try {
        return names();
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
        throw error;
      }
    },
    touched(id, checked) {
      const row = find(id, checked);
      return row === undefined ? null : Math.floor(row.mtimeMs);
    },
    row(id, checked, onUnreadable) {
      const row = find(id, checked);
      if (row === undefined) return null;
      const summary = summaryOf(row);
      if (summary === null) {
        if (!isStillborn(join(directory, id))) onUnreadable?.(id);
        return null;
      }
      return { id, summary, touched: Math.floor(row.mtimeMs) };
    },
    async refresh(ids) {
      // Before the first wait: a session made meanwhile is not among the ids, and a list that began later has its row already.
      const known = new Set(ids);
      for (const id of loaded().keys()) if (!known.has(id)) loaded().delete(id);
      for (let i = 0; i < ids.length; i += SLICE) {
        for (const id of ids.slice(i, i + SLICE)) current(id);
        await nextTurn();
      }
      save();
    },
  };
}

// --- internal ---

/** The row as it was while its file is unchanged, else a new one; undefined when the summary cannot be read. */
function readRow<S>(path: string, before: Row<S> | undefined): Row<S> | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    const { ino, size, mtimeMs } = stats;
    if (before?.mtimeMs === mtimeMs && before.size === size && before.ino === ino) return before;
    return { ino, size, mtimeMs, summary: readRegular(path, LIMITS.summaryBytes) };
  } catch {
    return undefined;
  }
}

/**
 * True for a session without a single record. A machine that went down while it was made may leave its name and nothing of what
 * was in it; nobody was promised it.
 */
function isStillborn(directory: string): boolean {
  try {
    const { files, segments } = loadChain(directory);
    return files.length === 0 && segments.length === 0;
  } catch {
    return false;
  }
}

function summaryOf<S extends object>(row: Row<S>): S | null {
  if (typeof row.summary === "string") row.summary = parseSummary<S>(row.summary);
  return row.summary;
}

function* linesOf<S extends object>(rows: ReadonlyMap<string, Row<S>>): Iterable<string> {
  for (const [id, row] of rows) yield JSON.stringify([id, row.ino, row.size, row.mtimeMs, summaryOf(row)]);
}

/** None when the file cannot be read, or is not as it was written. */
function loadRows<S extends object>(path: string): Map<string, Row<S>> {
  const rows = new Map<string, Row<S>>();
  try {
    const isWhole = readIndexFile(path, (lines) => {
      // Many at once: ten thousand small texts take twice as long.
      const saved = JSON.parse(`[${lines.replaceAll("\n", ",")}]`) as [string, number, number, number, unknown][];
      for (const [id, ino, size, mtimeMs, summary] of saved)
        rows.set(id, { ino, size, mtimeMs, summary: asSummary<S>(summary) });
    });
    if (isWhole) return rows;
  } catch {
    // The summaries are read once more.
  }
  return new Map();
}
