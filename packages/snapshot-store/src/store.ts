/** A directory of sessions, each with the snapshots of its turns, and the workspaces they share. */
import { mkdirSync, readdirSync, realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { type Baseline, baselineDirectory, createBaseline } from "./baseline/baseline.js";
import { type Blobs, createBlobs } from "./content/blobs.js";
import { removeOwnDirectory } from "./content/own-files.js";
import { editsOf } from "./diff/edits.js";
import { errnoOf, orElse, SnapshotError, toSnapshotError } from "./errors.js";
import { collectGarbage } from "./gc.js";
import { DEFAULT_LIMITS } from "./limits.js";
import { readJournal } from "./restore/journal.js";
import { createSessionSnapshots } from "./session-snapshots.js";
import { snapshotOf } from "./turn/manifest.js";
import { createManifests, type Manifests } from "./turn/manifests.js";
import type { RestoreLog, SessionSnapshots, SnapshotStore, SnapshotStoreOptions } from "./types.js";
import { createRoots } from "./workspace/roots.js";

const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;

/**
 * Undo and redo of files, by session and turn, kept below a directory.
 *
 * @example
 * const snapshots = createSnapshotStore({ root: "/var/lib/mine/snapshots" });
 * const sessions = createSessions({ ...deps, snapshots });
 */
export function createSnapshotStore(options: SnapshotStoreOptions): SnapshotStore {
  const root = resolve(options.root);
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const { clock = Date.now, monotonic = () => performance.now() } = options;
  const onIndexing = options.onIndexing ?? (() => {});
  const baselines = new Map<string, Baseline>();
  const open = new Map<string, SessionSnapshots>();
  const ownData = [root, ...(options.exclude ?? [])].map(realDirectory);

  function baseline(path: string): Baseline {
    const known = baselines.get(path);
    if (known !== undefined) return known;
    const directory = baselineDirectory(root, path);
    const made = createBaseline({ directory, root: path, ownData, limits, clock, monotonic, onIndexing });
    baselines.set(path, made);
    return made;
  }

  return {
    session(sessionId, workspace, log = NO_LOG) {
      const directory = sessionDirectory(root, sessionId);
      const roots = createRoots(workspace, ownData);
      const kept = { sessionId, directory, roots, limits, clock, baseline, log };
      const session = createSessionSnapshots(kept);
      open.set(sessionId, session);
      return session;
    },
    reading(sessionId, workspace) {
      const directory = sessionDirectory(root, sessionId);
      const roots = createRoots(workspace, ownData);
      const look = async <T>(doing: string, at: (manifests: Manifests, blobs: Blobs) => T | Promise<T>): Promise<T> => {
        const blobs = createBlobs(`${directory}/blobs`);
        try {
          return await at(createManifests(directory, blobs, roots, limits), blobs);
        } catch (error) {
          throw toSnapshotError(error, doing);
        }
      };
      return {
        list: () => look("listing snapshots", (manifests) => manifests.all().map(snapshotOf)),
        edits: (snapId) =>
          look("comparing files", (manifests, blobs) => editsOf(manifests.manifest(snapId), blobs, roots.cwd)),
      };
    },
    unfinished(only) {
      return (only === undefined ? sessionIds(root) : [only]).flatMap((sessionId) => {
        const directory = `${root}/${sessionId}`;
        const roots = open.has(sessionId) ? null : interruptedRoots(directory);
        if (roots === null) return [];
        const [cwd = root, ...directories] = roots;
        return [{ sessionId, workspace: { cwd, directories }, touchedMs: statSync(directory).mtimeMs }];
      });
    },
    release(sessionId) {
      open.delete(sessionId);
    },
    async clear(sessionId) {
      const directory = sessionDirectory(root, sessionId);
      const session = open.get(sessionId);
      open.delete(sessionId);
      try {
        if (session !== undefined) await session.drop();
        else if (interruptedRoots(directory) === null) removeOwnDirectory(directory);
      } catch (error) {
        throw toSnapshotError(error, `forgetting ${sessionId}`);
      }
    },
    async gc(gcOptions = {}) {
      try {
        return await collectGarbage({
          root,
          limits,
          now: clock(),
          keep: new Set([...open.keys(), ...(gcOptions.keep ?? [])]),
          sessionIds: sessionIds(root),
          baselines: new Map([...baselines].map(([path, each]) => [baselineDirectory(root, path), each])),
          signal: gcOptions.signal,
        });
      } catch (error) {
        throw toSnapshotError(error, "collecting garbage");
      }
    },
  };
}

// --- internal ---

const NO_LOG: RestoreLog = { requireHeld() {}, recorded: async () => false };

/** The roots of an unsettled restore; null when there is none. */
function interruptedRoots(directory: string): readonly string[] | null {
  // When the journal cannot be read, settling it will report why.
  return orElse(() => readJournal(directory)?.roots ?? null, []);
}

function sessionDirectory(root: string, sessionId: string): string {
  if (!SESSION_ID.test(sessionId)) {
    throw new SnapshotError("invalid_id", `${JSON.stringify(sessionId)} is not a session id`);
  }
  return `${root}/${sessionId}`;
}

function sessionIds(root: string): string[] {
  try {
    return readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && SESSION_ID.test(entry.name))
      .map((entry) => entry.name);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw toSnapshotError(error, "listing sessions");
  }
}

/** The store's real path, so that a workspace around it does not take its files for the workspace's own. */
function realDirectory(root: string): string {
  try {
    mkdirSync(root, { recursive: true, mode: 0o700 });
    return realpathSync(root);
  } catch (error) {
    throw toSnapshotError(error, `preparing ${root}`);
  }
}
