import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isPrompted } from "../../backend/list.js";
import { readEntries } from "../../backend/replay.js";
import { LIMITS } from "../../limits.js";
import { isStorableId } from "../../session-id.js";
import type { EventBody, ListedSession, SummaryForm } from "../../types.js";
import { createDirectoryView } from "../directory-view.js";
import { readRegular } from "../regular-file.js";
import type { LogFiles } from "../segment/log-files.js";
import { replayOf } from "../segment/replay-log.js";
import { readIndexFile, writeIndexFile } from "./index-file.js";
import { asObject, parseSummary, shapedBy } from "./summaries.js";

export type SessionIndex<S extends object> = ReturnType<typeof createSessionIndex<EventBody, S>>;

/** The work that one list may do. */
export interface ListWork {
  /** True when the rows were refreshed, so that none is checked again. */
  readonly checked: boolean;
  /** How many bytes of logs the list may still read. */
  logBytes: number;
  readonly onUnreadable?: ((id: string) => void) | undefined;
}

interface Row<S> {
  /** The inode of the summary; 0 when there is none. */
  readonly ino: number;
  readonly size: number;
  /** The time of the summary, or of the session's directory when there is no summary. */
  readonly mtimeMs: number;
  /** The log that the row was made from; null when the summary was enough. */
  readonly log: LogMark | null;
  /** JSON text until its first use; null when the file holds no summary. */
  summary: S | string | null;
}

/** The length of a log and the time of its last write. A row made from the log is valid while both stay the same. */
type LogMark = readonly [bytes: number, mtimeMs: number];

const INDEX_NAME = "index.ndjson";
/** Rows checked between two turns of the event loop: about a millisecond of work. */
const SLICE = 200;
/** How far the time of a fresh write may be behind the clock of this process. */
const LAG_MS = 1000;
/** The program's own summaries are far smaller. A larger file is parsed and shaped at once, so that its text is not kept. */
const SMALL = 16 * 1024;
const LOG_FILE = /^event-.*\.(nd)?json$/;

/**
 * The summaries of all sessions, so that a list does not open each one. Every use checks the summary file's inode, size and
 * time: the index is a copy that may be deleted. The log decides where a summary is lost, or says that there was no prompt yet
 * although there is a log: the row is then made from the log.
 */
export function createSessionIndex<E extends EventBody, S extends object>(deps: {
  readonly directory: string;
  readonly filesOf: (directory: string) => LogFiles;
  readonly form: SummaryForm<E, S> | undefined;
}) {
  const { directory, form } = deps;
  const path = join(directory, INDEX_NAME);
  let rows: Map<string, Row<S>> | null = null;
  let changed = 0;
  /** Sessions that were written after the last refresh have a later time than this. */
  let settled = 0;
  const names = createDirectoryView(directory, () =>
    readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && isStorableId(entry.name))
      .map((entry) => entry.name),
  );

  const shaped = shapedBy(form);

  const loaded = (): Map<string, Row<S>> => {
    rows ??= loadRows<S>(path, shaped);
    return rows;
  };

  const keep = (id: string, row: Row<S> | undefined): Row<S> | undefined => {
    if (row !== undefined) loaded().set(id, row);
    else loaded().delete(id);
    changed++;
    return row;
  };

  const summaryOf = (id: string, row: Row<S>): S | null => {
    if (typeof row.summary === "string") row.summary = shaped(id, parseSummary(row.summary));
    return row.summary;
  };

  /** The row of a session by its summary file: the known row while the file is unchanged, else a new one. */
  const current = (id: string): Row<S> | undefined => {
    const before = loaded().get(id);
    // Not `join`, which costs as much as the `stat` below: an id contains nothing that needs it.
    const file = `${directory}/${id}/summary.json`;
    try {
      const stats = statSync(file, { throwIfNoEntry: false });
      if (stats === undefined) {
        const { mtimeMs } = statSync(`${directory}/${id}`);
        return before?.ino === 0 ? before : keep(id, { ino: 0, size: 0, mtimeMs, log: null, summary: null });
      }
      const { ino, size, mtimeMs } = stats;
      if (before?.mtimeMs === mtimeMs && before.size === size && before.ino === ino) return before;
      const text = readRegular(file, LIMITS.summaryBytes);
      const isLong = text !== null && text.length > SMALL;
      const summary = isLong ? shaped(id, parseSummary(text)) : text;
      return keep(id, { ino, size, mtimeMs, log: null, summary });
    } catch {
      return before === undefined ? undefined : keep(id, undefined);
    }
  };

  const listed = (id: string, row: Row<S>): ListedSession<S> | null => {
    const summary = summaryOf(id, row);
    return summary === null ? null : { id, summary, touched: touchedOf(row) };
  };

  /** The row of a session that must be made from its log because the summary is not enough. */
  const derived = async (id: string, row: Row<S>, work: ListWork): Promise<ListedSession<S> | null> => {
    const unreadable = (): null => {
      work.onUnreadable?.(id);
      return null;
    };
    const stored = summaryOf(id, row);
    try {
      const log = markOf(join(directory, id));
      if (log[0] === 0) return listed(id, row);
      if (row.log?.[0] === log[0] && row.log[1] === log[1]) return listed(id, row);
      if (form === undefined) return stored === null ? unreadable() : listed(id, row);
      // This list has read enough: a later list makes this summary again.
      if (work.logBytes <= 0) return unreadable();
      work.logBytes -= log[0];
      const files = deps.filesOf(join(directory, id));
      const born = files.chain().segments.find((segment) => segment.header?.birth)?.header?.birth;
      const entries = readEntries<E>(() => replayOf<E>(files), { from: 0, to: Number.MAX_SAFE_INTEGER });
      const summary = await form.derive(id, { ...stored, ...born }, entries);
      return listed(id, keep(id, { ...row, log, summary })!);
    } catch {
      return stored === null ? unreadable() : listed(id, row);
    }
  };

  const save = (): void => {
    if (changed < Math.max(SLICE, loaded().size / 20)) return;
    try {
      writeIndexFile(path, linesOf(loaded(), summaryOf));
      changed = 0;
    } catch {
      // Without the file the next process reads every summary.
    }
  };

  const find = (id: string, checked: boolean): Row<S> | undefined =>
    (checked ? loaded().get(id) : undefined) ?? current(id);

  return {
    /** Every session directory. */
    ids() {
      try {
        return names();
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
        throw error;
      }
    },
    /** Epoch milliseconds of a session's last write; null when nothing of it can be read. `checked` skips the look at its summary file. */
    touched(id: string, checked: boolean) {
      const row = find(id, checked);
      return row === undefined ? null : touchedOf(row);
    },
    /** The row of a session; null when neither its summary nor its log can be read. */
    row(id: string, work: ListWork) {
      const row = find(id, work.checked);
      if (row === undefined) return null;
      const summary = summaryOf(id, row);
      const isEnough = summary !== null && (form === undefined || isPrompted(summary)) && row.log === null;
      return isEnough ? listed(id, row) : derived(id, row, work);
    },
    /** The row of a session, made from its log however long the log is. */
    async fromLog(id: string) {
      const row = current(id);
      return row === undefined ? null : derived(id, row, { checked: false, logBytes: Number.POSITIVE_INFINITY });
    },
    /** True when the last refresh knows all sessions that were last written before this time, except those removed or written since. */
    isSettled: (time: number) => time < settled,
    /** Brings the rows of all sessions up to date, giving way to other work in between, and saves them when much changed. */
    async refresh(ids: readonly string[]) {
      // Done before the first wait: a session made after that is not among the ids, and its row must stay.
      const known = new Set(ids);
      const begun = Date.now() - LAG_MS;
      for (const id of loaded().keys()) if (!known.has(id)) loaded().delete(id);
      for (let i = 0; i < ids.length; i += SLICE) {
        for (const id of ids.slice(i, i + SLICE)) current(id);
        await nextTurn();
      }
      let newest = 0;
      for (const row of loaded().values()) newest = Math.max(newest, touchedOf(row));
      // Another machine, whose clock is late, may have written the files.
      settled = Math.min(begun, newest);
      save();
    },
  };
}

// --- internal ---

function touchedOf({ mtimeMs, log }: Row<unknown>): number {
  return Math.floor(Math.max(mtimeMs, log?.[1] ?? 0));
}

/** The length and time of a log; zeros without a record, also when a crash of the machine left only empty files. */
function markOf(directory: string): LogMark {
  let bytes = 0;
  let newest = 0;
  for (const name of readdirSync(directory)) {
    if (!LOG_FILE.test(name)) continue;
    const stats = statSync(`${directory}/${name}`, { throwIfNoEntry: false });
    bytes += stats?.size ?? 0;
    newest = Math.max(newest, stats?.mtimeMs ?? 0);
  }
  return [bytes, newest];
}

/** The order of the fields differs from version 0.1, so version 0.1 treats such a line as outdated. */
type Line = [id: string, log: LogMark | null, ino: number, size: number, mtimeMs: number, summary: unknown];

function* linesOf<S extends object>(
  rows: ReadonlyMap<string, Row<S>>,
  summaryOf: (id: string, row: Row<S>) => S | null,
): Iterable<string> {
  for (const [id, row] of rows) {
    const line: Line = [id, row.log, row.ino, row.size, row.mtimeMs, summaryOf(id, row)];
    yield JSON.stringify(line);
  }
}

/** The rows of the index file; none when it cannot be read or its checksum does not match. */
function loadRows<S extends object>(
  path: string,
  shaped: (id: string, stored: object | null) => S | null,
): Map<string, Row<S>> {
  const rows = new Map<string, Row<S>>();
  try {
    const isWhole = readIndexFile(path, (lines) => {
      // One parse for many lines: ten thousand small parses take twice as long.
      const saved = JSON.parse(`[${lines.replaceAll("\n", ",")}]`) as Line[];
      for (const [id, log, ino, size, mtimeMs, summary] of saved)
        rows.set(id, {
          log: Array.isArray(log) ? log : null,
          ino,
          size,
          mtimeMs,
          summary: shaped(id, asObject(summary)),
        });
    });
    if (isWhole) return rows;
  } catch {
    // Without the index, every summary is read again.
  }
  return new Map();
}
