/** A claimed log: writes and syncs it while the claim stands, and notices when another process has taken over. */
import { join } from "node:path";
import type { Held } from "../backend/backend.js";
import { type Claim, claimHolder } from "../claim/claim.js";
import type { Heartbeat } from "../claim/heartbeat.js";
import { describeHolder } from "../claim/identity.js";
import { StoreError } from "../errors.js";
import { orElse } from "../or-else.js";
import type { DiskSync, OpenFiles } from "./disk.js";
import type { SegmentFile, SegmentLog } from "./segment/segment-log.js";

/** A claimed log and where it ends. */
export interface OpenLog {
  readonly claim: Claim;
  readonly segments: SegmentLog;
  readonly lastSeq: number;
  readonly lastTs: string;
  /** Paths, apart from the segments, that the next sync must cover: a new session's summary and directories. */
  readonly unsynced: readonly string[];
}

/** A hold that can also end without a release, when the directory is gone and its name may belong to a new session. */
export interface HeldLog extends Held {
  /** Epoch milliseconds of the last write; 0 before the first one. */
  readonly touched: number;
  forget(): void;
}

interface HeldLogDeps {
  readonly id: string;
  readonly directory: string;
  readonly heartbeat: Heartbeat;
  readonly openFiles: OpenFiles;
  readonly disk: DiskSync;
  readonly clock: () => number;
  /** Called with the paths that have just been synced. */
  readonly onSynced: (paths: readonly string[]) => void;
  readonly onEnd: () => void;
}

export function createHeldLog(log: OpenLog, deps: HeldLogDeps): HeldLog {
  const { claim, segments, lastSeq, lastTs } = log;
  const { id, directory, heartbeat, openFiles, disk } = deps;
  const lost = new AbortController();
  let unsynced = [...log.unsynced];
  let touched = 0;
  let lapses = heartbeat.lapses();

  /** Another process takes over only after this one's heartbeat stood still, so the disk is read only after a late beat. */
  const isHeld = (): boolean => {
    const now = heartbeat.lapses();
    if (now === lapses) return true;
    if (claim.isHeld()) lapses = now;
    else lost.abort(takenOver(id, directory));
    return !lost.signal.aborted;
  };
  const stopChecking = heartbeat.onLate(isHeld);

  const syncFile = (file: SegmentFile): Promise<void> => {
    let pinned = false;
    const acquire = (): number => {
      const fd = file.fd();
      openFiles.pin(file.key);
      pinned = true;
      return fd;
    };
    return disk.data(acquire).finally(() => pinned && openFiles.unpin(file.key));
  };

  const forget = (): void => {
    stopChecking();
    segments.close();
    deps.onEnd();
  };

  return {
    origin: segments.origin,
    lastSeq,
    // -1: not even the creation of the session survives a crash of the machine yet.
    durableSeq: lastSeq === 0 && log.unsynced.length > 0 ? -1 : segments.durableSeq,
    lastTs,
    lost: lost.signal,
    isHeld,
    get touched() {
      return touched;
    },
    write(batch) {
      if (!isHeld()) throw lost.signal.reason;
      touched = deps.clock();
      return segments.write(batch);
    },
    async sync() {
      try {
        const point = segments.syncPoint();
        const paths = unsynced;
        if (point.hasNewFile && !paths.includes(directory)) paths.push(directory);
        // In parallel: syncs that wait for the disk together are done together.
        const syncs = [...point.files.map(syncFile), ...paths.map((path) => disk.path(path))];
        unsynced = [];
        const failed = (await Promise.allSettled(syncs)).find((result) => result.status === "rejected");
        if (failed !== undefined) {
          unsynced.push(...paths);
          throw failed.reason;
        }
        if (paths.length > 0) deps.onSynced(paths);
        segments.synced(point);
        return point.seq;
      } catch (error) {
        segments.distrust();
        throw error;
      }
    },
    async release() {
      forget();
      claim.release();
    },
    forget,
  };
}

// --- internal ---

function takenOver(id: string, directory: string): StoreError {
  // None when it cannot be read, or the session is gone.
  const holder = orElse(() => claimHolder(join(directory, "claim")), null);
  const who = describeHolder(holder ?? undefined);
  return new StoreError("fenced", `session ${id} was taken over by ${who}`, { ...(holder && { holder }) });
}
