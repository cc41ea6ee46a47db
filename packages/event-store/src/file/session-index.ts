import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { hex8 } from "../record/crc32.js";
import { isStorableId } from "../session-id.js";
import type { Damage, ListedSession } from "../types.js";
import { replaceFileSync } from "./atomic-file.js";

/**
 * The summaries of all sessions, so that a list does not open each one. Every use is checked against the summary file's
 * inode, size and time: the index is a copy that may be thrown away, never the truth.
 */
export interface SessionIndex<S> {
  /** Every session directory. */
  ids(): string[];
  /**
   * The row of a session; null without a readable summary. `checked` rows were just refreshed; others are read again if their
   * summary changed.
   */
  row(id: string, checked: boolean, onDamage?: (damage: Damage) => void): ListedSession<S> | null;
  /** Brings many rows up to date, giving way to other work in between, and saves them when much changed. */
  refresh(ids: readonly string[]): Promise<void>;
}

interface Row<S> {
  readonly mark: string;
  readonly touched: number;
  /** Null for a summary that is not a JSON object. */
  readonly summary: S | null;
}

const INDEX_NAME = "index.ndjson";
/** Rows checked between two turns of the event loop: about a millisecond of work. */
const SLICE = 200;

export function createSessionIndex<S extends object>(directory: string): SessionIndex<S> {
  const path = join(directory, INDEX_NAME);
  let rows: Map<string, Row<S>> | null = null;
  let changed = 0;

  const loaded = (): Map<string, Row<S>> => {
    rows ??= loadRows<S>(path);
    return rows;
  };

  const current = (id: string): Row<S> | null => {
    const summary = join(directory, id, "summary.json");
    const before = loaded().get(id);
    try {
      const { ino, size, mtimeMs } = statSync(summary);
      const mark = `${ino}:${size}:${mtimeMs}`;
      if (before?.mark === mark) return before;
      const row = { mark, touched: Math.floor(mtimeMs), summary: parseSummary<S>(readFileSync(summary, "utf8")) };
      loaded().set(id, row);
      changed++;
      return row;
    } catch {
      if (loaded().delete(id)) changed++;
      return null;
    }
  };

  const save = (): void => {
    if (changed < Math.max(SLICE, loaded().size / 20)) return;
    try {
      replaceFileSync(path, [...loaded()].map(formatRow).join(""));
      changed = 0;
    } catch {
      // Without the file the next process reads the summaries once more.
    }
  };

  return {
    ids() {
      try {
        return readdirSync(directory).filter((name) => name !== INDEX_NAME && isStorableId(name));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
        throw error;
      }
    },
    row(id, checked, onDamage) {
      const row = checked ? loaded().get(id) : current(id);
      if (row == null) return null;
      if (row.summary === null) {
        onDamage?.({ seq: null, where: `${id}/summary.json`, reason: "the summary is not a JSON object" });
        return null;
      }
      return { id, summary: row.summary, touched: row.touched };
    },
    async refresh(ids) {
      for (let i = 0; i < ids.length; i += SLICE) {
        for (const id of ids.slice(i, i + SLICE)) current(id);
        await nextTurn();
      }
      const known = new Set(ids);
      for (const id of loaded().keys()) if (!known.has(id)) loaded().delete(id);
      save();
    },
  };
}

/** The summary a text holds, or null when it is not a JSON object. */
export function parseSummary<S extends object>(text: string): S | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as S) : null;
  } catch {
    return null;
  }
}

// --- internal ---

/** One line per session, its checksum first. */
function formatRow<S>([id, row]: readonly [string, Row<S>]): string {
  const text = JSON.stringify([id, row.mark, row.touched, row.summary]);
  return `${hex8(crc32(text))} ${text}\n`;
}

function loadRows<S>(path: string): Map<string, Row<S>> {
  const rows = new Map<string, Row<S>>();
  let lines: string[];
  try {
    lines = readFileSync(path, "utf8").split("\n");
  } catch {
    return rows;
  }
  for (const line of lines) {
    const text = line.slice(9);
    if (line.slice(0, 8) !== hex8(crc32(text))) continue;
    const [id, mark, touched, summary] = JSON.parse(text || "[]") as [string, string, number, S | null];
    if (typeof id === "string") rows.set(id, { mark, touched, summary });
  }
  return rows;
}
