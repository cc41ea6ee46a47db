/** A directory of sessions, each with its undo history, and the workspaces they share. */
import { mkdirSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { type Baseline, baselineDirectory, createBaseline } from "./baseline/baseline.js";
import { createBlobs } from "./content/blobs.js";
import { errnoOf, SnapshotError, toSnapshotError } from "./errors.js";
import { collectGarbage } from "./gc.js";
import { DEFAULT_LIMITS } from "./limits.js";
import { readJournal } from "./restore/journal.js";
import { recoverRestore, unsettled } from "./restore/restore.js";
import { createSessionSnapshots } from "./session-snapshots.js";
import type { RecoveryReport, SessionSnapshots, SnapshotStore, SnapshotStoreOptions } from "./types.js";
import { createRoots } from "./workspace/roots.js";

const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;

export function createSnapshotStore(options: SnapshotStoreOptions): SnapshotStore {
  const root = resolve(options.root);
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const clock = options.clock ?? Date.now;
  const baselines = new Map<string, Baseline>();
  const open = new Map<string, SessionSnapshots>();
  const ownData = realDirectory(root);

  function baseline(path: string): Baseline {
    const known = baselines.get(path);
    if (known !== undefined) return known;
    const made = createBaseline({ directory: baselineDirectory(root, path), root: path, ownData, limits, clock });
    baselines.set(path, made);
    return made;
  }

  return {
    session(sessionId, workspace) {
      const directory = sessionDirectory(root, sessionId);
      const roots = createRoots(workspace, ownData);
      const session = createSessionSnapshots({ sessionId, directory, roots, limits, clock, baseline });
      open.set(sessionId, session);
      return session;
    },
    async recover(hold = (_, work) => work()) {
      const reports: RecoveryReport[] = [];
      for (const sessionId of sessionIds(root)) {
        if (open.has(sessionId)) continue;
        const directory = sessionDirectory(root, sessionId);
        try {
          if (readJournal(directory) === null) continue;
          await hold(sessionId, async () => {
            const report = await recoverRestore(sessionId, directory, (paths) => ({
              roots: createRoots({ cwd: paths[0] ?? root, directories: paths.slice(1) }, ownData),
              blobs: createBlobs(`${directory}/blobs`),
              fileBytes: limits.fileBytes,
            }));
            if (report !== null) reports.push(report);
          });
        } catch (error) {
          // One session that cannot be looked at keeps no other from being settled, nor the process from starting.
          reports.push(unsettled(sessionId, error));
        }
      }
      return reports;
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
        else rmSync(directory, { recursive: true, force: true });
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

/** The store's real place, so that a workspace that contains it never takes it for its own files. */
function realDirectory(root: string): string {
  try {
    mkdirSync(root, { recursive: true, mode: 0o700 });
    return realpathSync(root);
  } catch (error) {
    throw toSnapshotError(error, `preparing ${root}`);
  }
}
