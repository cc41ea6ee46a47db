/** A turn in progress: what it found, per path, written down before each write, so that a crash can be undone. */
import type { StoredState } from "../content/file-state.js";
import type { HistoryRow } from "./history-file.js";

export type OpenTurn = ReturnType<typeof withState>;

/** Nothing is written for a turn that touches no file. */
export function openTurn(turn: number, write: (rows: readonly HistoryRow[]) => void): OpenTurn {
  let begun = false;
  return withState(turn, emptyTurn(), (rows) => {
    write(begun ? rows : [{ turn }, ...rows]);
    begun = true;
  });
}

/** The turn that a crash left; null when it left none. */
export function reopenTurn(rows: readonly HistoryRow[], write: (rows: readonly HistoryRow[]) => void): OpenTurn | null {
  const turn = rows[0]?.turn;
  if (turn === undefined) return null;
  const state = emptyTurn();
  for (const row of rows) take(state, row);
  return withState(turn, state, write);
}

// --- internal ---

function emptyTurn() {
  return {
    before: new Map<string, StoredState>(),
    /** Directory -> mode before, null when it was not there. */
    dirs: new Map<string, number | null>(),
    skipped: new Map<string, string>(),
    /** Commands that started and did not end: root -> when. */
    running: new Map<string, number>(),
  };
}

function withState(turn: number, state: ReturnType<typeof emptyTurn>, write: (rows: readonly HistoryRow[]) => void) {
  let waiting: HistoryRow[] | null = null;
  function add(row: HistoryRow): void {
    if (waiting === null) write([row]);
    else waiting.push(row);
    take(state, row);
  }
  return {
    turn,
    ...state,
    found(path: string, found: StoredState) {
      if (!state.before.has(path)) add({ path, state: found });
    },
    foundDirectory(dir: string, mode: number | null) {
      if (!state.dirs.has(dir)) add({ dir, mode });
    },
    skip(path: string, reason: string) {
      if (!state.before.has(path) && !state.skipped.has(path)) add({ skipped: path, reason });
    },
    commandStarted: (root: string, at: number) => add({ run: root, at }),
    commandEnded: (root: string) => add({ run: root, at: null }),
    /** Writes what `work` finds in one go. */
    async together(work: () => Promise<void>) {
      waiting = [];
      try {
        await work();
      } finally {
        // Also when it failed midway: what it found by then is not found again.
        const rows = waiting;
        waiting = null;
        if (rows.length > 0) write(rows);
      }
    },
  };
}

function take(state: ReturnType<typeof emptyTurn>, row: HistoryRow): void {
  if (row.path !== undefined && row.state !== undefined) state.before.set(row.path, row.state);
  if (row.dir !== undefined) state.dirs.set(row.dir, row.mode ?? null);
  if (row.skipped !== undefined) state.skipped.set(row.skipped, row.reason ?? "unreadable");
  if (row.run !== undefined) {
    if (typeof row.at === "number") state.running.set(row.run, row.at);
    else state.running.delete(row.run);
  }
}
