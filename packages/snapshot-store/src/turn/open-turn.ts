/**
 * A turn in progress: what it found, per path. Each finding is appended to `turn.ndjson` before the write it precedes, so
 * that a crash in the middle of a turn leaves a turn that can be undone.
 */
import { appendFileSync, mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { readTextIfAny } from "../content/atomic-file.js";
import { isSha256 } from "../content/blobs.js";
import { ABSENT, type StoredState } from "../content/file-state.js";

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
  /** Forgets the file on disk: the turn is in the stack now. */
  close(): void;
}

export function openTurn(path: string, turn: number): OpenTurn {
  const state = emptyTurn();
  /** Nothing is written for a turn that touches no file. */
  let started = false;
  function append(row: Row): void {
    const rows = started ? [row] : [{ turn }, row];
    if (!started) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    appendFileSync(path, rows.map((each) => `${JSON.stringify(each)}\n`).join(""), { mode: 0o600 });
    started = true;
    take(state, row);
  }
  return withState(path, turn, state, append);
}

/** The turn a crash left open, if any. */
export function reopenTurn(path: string): OpenTurn | null {
  const rows = (readTextIfAny(path) ?? "").split("\n").flatMap(parseRow);
  const turn = rows[0]?.turn;
  if (turn === undefined || !Number.isSafeInteger(turn)) return null;
  const state = emptyTurn();
  for (const row of rows) take(state, row);
  return withState(path, turn, state, (row) => take(state, row));
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
  path: string,
  turn: number,
  state: ReturnType<typeof emptyTurn>,
  append: (row: Row) => void,
): OpenTurn {
  return {
    turn,
    ...state,
    found(file, found) {
      if (!state.before.has(file)) append({ path: file, state: found });
    },
    foundDirectory(dir, mode) {
      if (!state.dirs.has(dir)) append({ dir, mode });
    },
    skip(file, reason) {
      if (!state.before.has(file) && !state.skipped.has(file)) append({ skipped: file, reason });
    },
    commandStarted: (root, at) => append({ run: root, at }),
    commandEnded: (root) => append({ run: root, at: null }),
    close: () => rmSync(path, { force: true }),
  };
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
