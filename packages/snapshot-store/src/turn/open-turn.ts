/**
 * A turn in progress: what it found, per path. Each finding is appended to `turn.ndjson` before the write it precedes, so
 * that a crash in the middle of a turn leaves a turn that can be undone.
 */
import { appendFileSync, mkdirSync, truncateSync } from "node:fs";
import { dirname } from "node:path";
import { readTextIfAny } from "../content/atomic-file.js";
import { isSha256 } from "../content/blobs.js";
import { ABSENT, type StoredState } from "../content/file-state.js";
import { errnoOf } from "../errors.js";

export interface OpenTurn {
  readonly turn: number;
  readonly before: ReadonlyMap<string, StoredState>;
  /** Directory -> mode before, null when it was not there. */
  readonly dirs: ReadonlyMap<string, number | null>;
  readonly skipped: ReadonlyMap<string, string>;
  /** Commands that started and did not end: root -> when. */
  readonly running: ReadonlyMap<string, number>;
  found(path: string, state: StoredState): void;
  foundDirectory(path: string, mode: number | null): void;
  skip(path: string, reason: string): void;
  commandStarted(root: string, at: number): void;
  commandEnded(root: string): void;
  /** Writes what `work` finds in one go. */
  together(work: () => void): void;
  /** The turn is in the stack now: what is on disk of it is emptied. */
  close(): void;
}

export function openTurn(path: string, turn: number): OpenTurn {
  const state = emptyTurn();
  /** Nothing is written for a turn that touches no file. */
  let started = false;
  function append(rows: readonly Row[]): void {
    if (!started) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const lines = (started ? rows : [{ turn }, ...rows]).map((row) => `${JSON.stringify(row)}\n`);
    appendFileSync(path, lines.join(""), { mode: 0o600 });
    started = true;
  }
  return withState(turn, state, append, () => {
    if (started) empty(path);
  });
}

/** The turn a crash left open, if any. */
export function reopenTurn(path: string): OpenTurn | null {
  const rows = (readTextIfAny(path) ?? "").split("\n").flatMap(parseRow);
  const turn = rows[0]?.turn;
  if (turn === undefined || !Number.isSafeInteger(turn)) return null;
  const state = emptyTurn();
  for (const row of rows) take(state, row);
  const inMemory = () => {};
  return withState(turn, state, inMemory, () => empty(path));
}

// --- internal ---

interface Row {
  readonly turn?: number;
  readonly path?: string;
  readonly state?: StoredState;
  readonly dir?: string;
  readonly mode?: number | null;
  readonly skipped?: string;
  readonly reason?: string;
  readonly run?: string;
  /** Null when the command ended. */
  readonly at?: number | null;
}

function emptyTurn() {
  return {
    before: new Map<string, StoredState>(),
    dirs: new Map<string, number | null>(),
    skipped: new Map<string, string>(),
    running: new Map<string, number>(),
  };
}

function withState(
  turn: number,
  state: ReturnType<typeof emptyTurn>,
  append: (rows: readonly Row[]) => void,
  close: () => void,
): OpenTurn {
  let waiting: Row[] | null = null;
  function add(row: Row): void {
    if (waiting === null) append([row]);
    else waiting.push(row);
    take(state, row);
  }
  return {
    turn,
    ...state,
    found(file, found) {
      if (!state.before.has(file)) add({ path: file, state: found });
    },
    foundDirectory(dir, mode) {
      if (!state.dirs.has(dir)) add({ dir, mode });
    },
    skip(file, reason) {
      if (!state.before.has(file) && !state.skipped.has(file)) add({ skipped: file, reason });
    },
    commandStarted: (root, at) => add({ run: root, at }),
    commandEnded: (root) => add({ run: root, at: null }),
    together(work) {
      waiting = [];
      try {
        work();
        if (waiting.length > 0) append(waiting);
      } finally {
        waiting = null;
      }
    },
    close,
  };
}

/** Cheaper than removing it, since most turns need it again. */
function empty(path: string): void {
  try {
    truncateSync(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

function take(state: ReturnType<typeof emptyTurn>, row: Row): void {
  if (row.path !== undefined && row.state !== undefined) state.before.set(row.path, row.state);
  if (row.dir !== undefined) state.dirs.set(row.dir, row.mode ?? null);
  if (row.skipped !== undefined) state.skipped.set(row.skipped, row.reason ?? "unreadable");
  if (row.run !== undefined) {
    if (typeof row.at === "number") state.running.set(row.run, row.at);
    else state.running.delete(row.run);
  }
}

function parseRow(text: string): Row[] {
  try {
    const row = JSON.parse(text) as Row;
    if (typeof row !== "object" || row === null) return [];
    if (row.path === undefined) return [row];
    const state = row.state as Partial<{ kind: string; sha: string; mode: number; target: string }> | undefined;
    if (state?.kind === "absent") return [{ path: row.path, state: ABSENT }];
    const known = (state?.kind === "file" || state?.kind === "link") && isSha256(state.sha);
    return known && Number.isInteger(state.mode) ? [row] : [];
  } catch {
    return [];
  }
}
