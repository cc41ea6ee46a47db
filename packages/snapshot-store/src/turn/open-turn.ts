/** A turn in progress. It records the state of each path before the first write, so that an interrupted turn can be undone. */
import type { StoredState } from "../content/file-state.js";
import type { HistoryRow } from "./history-file.js";

export type OpenTurn = ReturnType<typeof withState>;

/** Opens a turn. It writes nothing until the turn touches a file. */
export function openTurn(turn: number, write: (rows: readonly HistoryRow[]) => void): OpenTurn {
  let begun = false;
  return withState(turn, emptyTurn(), (rows) => {
    write(begun ? rows : [{ turn }, ...rows]);
    begun = true;
  });
}

/** The turn that a crash interrupted; null when there is none. */
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
    /** Directory -> its mode before; null when it did not exist. */
    dirs: new Map<string, number | null>(),
    skipped: new Map<string, string>(),
    /** Commands that started and did not end: root -> start time. */
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
    /** Writes everything that `work` finds with one call. */
    async together(work: () => Promise<void>) {
      waiting = [];
      try {
        await work();
      } finally {
        // Write also after a failure: states that were found already are not found a second time.
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
