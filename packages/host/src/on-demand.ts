/** The agent and the snapshots of a program. They are half and a fifth of its code, and are loaded with the first turn, since opening a session needs neither. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Agent } from "@chimera/acp-schema/agent";
import { opening } from "@chimera/acp-schema/outbox";
import { lazily } from "@chimera/acp-schema/promises";
import type { CodingAgent } from "@chimera/agent/agents";
import type { StoredSnapshots } from "@chimera/session";
import type { SessionSnapshots, SnapshotStore } from "@chimera/snapshot-store";

/** The agent, loaded with the first turn. */
export function createTurnAgent(open: () => Promise<CodingAgent>) {
  const coding = lazily(open);
  const agent: Agent = (turn, context) =>
    opening(async () => ({ first: [], rest: (await coding.get()).agent(turn, context) }));
  return {
    agent,
    /** The built-in tools and those of extensions. */
    tools: async () => (await coding.get()).tools,
    untrusted: async (cwd: string) => (await coding.get()).untrusted(cwd),
    closeSession: async (id: string) => (await coding.opened())?.closeSession(id),
    close: async () => (await coding.opened())?.close(),
  };
}

/** @param open loads the code and repairs restores that a crash interrupted in the store at `root`. */
export function createLazySnapshots(root: string, open: () => Promise<SnapshotStore>): LazySnapshots {
  const store = lazily(open);
  const isKept = (id: string) => existsSync(join(root, id));
  return {
    load: store.get,
    close: async () => void (await store.opened()),
    session: (id, workspace, log) =>
      lazySession(
        async () => (await store.get()).session(id, workspace, log),
        () => isKept(id),
      ),
    reading: (id, workspace) => {
      const open = async () => (await store.get()).reading(id, workspace);
      return {
        list: async () => (isKept(id) ? (await open()).list() : []),
        edits: async (snapId) => (await open()).edits(snapId),
      };
    },
    unfinished: async (id) => (id === undefined || isKept(id) ? (await store.get()).unfinished(id) : []),
    release: (id) => void store.opened().then((opened) => opened?.release(id)),
    async clear(id) {
      if (isKept(id) || (await store.opened())) await (await store.get()).clear(id);
    },
  };
}

// --- internal ---

/** The snapshots of a program's sessions, loaded with the first turn, undo or load that needs their code. */
interface LazySnapshots extends StoredSnapshots {
  /** Loads the code and repairs interrupted restores. */
  load(): Promise<unknown>;
  /** Waits for a repair that has begun. */
  close(): Promise<void>;
}

/** Calls keep their order, because each waits for the same promise. */
function lazySession(open: () => Promise<SessionSnapshots>, isKept: () => boolean): SessionSnapshots {
  const { get, opened } = lazily(open);
  const isNeeded = async () => isKept() || (await opened()) !== undefined;
  return {
    settle: async () => ((await isNeeded()) ? (await get()).settle() : null),
    // The next call reports why the code could not be loaded.
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
