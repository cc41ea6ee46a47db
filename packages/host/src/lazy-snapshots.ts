/** Snapshots whose code is loaded when a session first needs it: it is a fifth of the program's, and no session needs it to open. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { SessionSnapshots, SnapshotStore } from "@chimera/snapshot-store";
import { lazily } from "./lazily.js";

/** The snapshots of a program's sessions, loaded with the first turn, undo or load that needs their code. */
interface LazySnapshots extends Omit<SnapshotStore, "gc" | "unfinished"> {
  /** Loads the code and repairs what was interrupted. */
  load(): Promise<unknown>;
  /** Waits for a repair that has begun. */
  close(): Promise<void>;
}

/** @param open loads the code and repairs what a crash interrupted in the store at `root`. */
export function createLazySnapshots(root: string, open: () => Promise<SnapshotStore>): LazySnapshots {
  const store = lazily(open);
  const isKept = (id: string) => existsSync(join(root, id));
  return {
    load: store.get,
    close: async () => void (await store.opened()),
    session: (id, workspace, requireHeld) =>
      lazySession(
        async () => (await store.get()).session(id, workspace, requireHeld),
        () => isKept(id),
      ),
    release: (id) => void store.opened().then((opened) => opened?.release(id)),
    async clear(id) {
      if (isKept(id) || (await store.opened())) await (await store.get()).clear(id);
    },
  };
}

/** Calls keep their order, because each waits for the same promise. */
function lazySession(open: () => Promise<SessionSnapshots>, isKept: () => boolean): SessionSnapshots {
  const { get, opened } = lazily(open);
  const isNeeded = async () => isKept() || (await opened()) !== undefined;
  return {
    settle: async (recorded) => ((await isNeeded()) ? (await get()).settle(recorded) : null),
    // The next call says why the code could not be loaded.
    beginTurn: (turn) =>
      void get().then(
        (snapshots) => snapshots.beginTurn(turn),
        () => {},
      ),
    willWrite: async (path) => (await get()).willWrite(path),
    willRun: async (options) => (await get()).willRun(options),
    endTurn: async (reachable) => (await get()).endTurn(reachable),
    restore: async (turns, direction, options) => (await get()).restore(turns, direction, options),
    list: async () => ((await isNeeded()) ? (await get()).list() : []),
    edits: async (snapId) => (await get()).edits(snapId),
    drop: async () => {
      if (await isNeeded()) await (await get()).drop();
    },
  };
}
