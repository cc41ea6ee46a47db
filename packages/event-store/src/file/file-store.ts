import { rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Backend, Held } from "../backend/backend.js";
import { createStore, type StoreOptions } from "../backend/create-store.js";
import { withChecksum } from "../backend/encode.js";
import { lastOf } from "../backend/entry.js";
import { type Claim, claim, claimUnseen } from "../claim/claim.js";
import { createHeartbeat } from "../claim/heartbeat.js";
import { StoreError } from "../errors.js";
import { pageOf, type RowSource } from "../list.js";
import type { EventBody, EventStore } from "../types.js";
import { createFollowing } from "./follow.js";
import { createHeldLog, type HeldLog, type OpenLog } from "./held-log.js";
import { createOpenFiles } from "./open-files.js";
import { EMPTY_LOG, inspectLog, type LogEnd } from "./segment/log-end.js";
import { createLogFiles } from "./segment/log-files.js";
import { replayOf } from "./segment/replay-log.js";
import { createSegmentLog, type SegmentLog } from "./segment/segment-log.js";
import { isSessionDirectory, makeSessionDirectory, removeSessionDirectory } from "./session-directory.js";
import { createSessionIndex } from "./session-index.js";
import { createSummaries, formatSummary } from "./summaries.js";
import { createDiskSync } from "./sync.js";

export interface FileStoreOptions extends StoreOptions {
  /** The data directory; sessions go to its `eventlog`, heartbeats to its `run`. Created on first use. */
  readonly root: string;
  /** Called when a session that is opened for writing ends in a record that a crash cut off; `where` names the file and the byte. */
  readonly onTornTail?: (id: string, where: string) => void;
}

/** Sessions as directories of append-only segments. Other processes may read and follow them, and claim them when free. */
export function createFileStore<E extends EventBody, S extends object>(options: FileStoreOptions): EventStore<E, S> {
  return createStore(createFileBackend<E, S>(options), options);
}

// --- internal ---

function createFileBackend<E extends EventBody, S extends object>(options: FileStoreOptions): Backend<E, S> {
  const { clock = Date.now, onTornTail } = options;
  const root = resolve(options.root);
  const eventlog = join(root, "eventlog");
  const heartbeat = createHeartbeat(join(root, "run"));
  const openFiles = createOpenFiles();
  const disk = createDiskSync(openFiles);
  const index = createSessionIndex<S>(eventlog);
  const directoryOf = (id: string): string => join(eventlog, id);
  const filesOf = createLogFiles(openFiles);
  const follow = createFollowing<E>();
  const summaries = createSummaries<S>(openFiles, disk);
  const holds = new Map<string, HeldLog>();

  const existing = (id: string): string => {
    const directory = directoryOf(id);
    if (!isSessionDirectory(directory)) throw new StoreError("not_found", `no session ${id}`);
    return directory;
  };

  const take = (directory: string): Claim => openFiles.withRoom(() => claim(join(directory, "claim"), { heartbeat }));

  const hold = (id: string, log: OpenLog): Held => {
    const deps = { id, directory: directoryOf(id), heartbeat, openFiles, disk, clock };
    const held = createHeldLog(log, { ...deps, onEnd: () => holds.delete(id) });
    holds.set(id, held);
    return held;
  };

  /** `unsynced` are the paths that a crash of the machine may still take back. */
  const makeSession = (id: string, summary: S): OpenLog => {
    const directory = directoryOf(id);
    const text = formatSummary(summary);
    const { filled, changed } = makeSessionDirectory(directory, (unseen) =>
      openFiles.withRoom(() => {
        writeFileSync(join(unseen, "summary.json"), text, { mode: 0o600 });
        return claimUnseen(join(unseen, "claim"), join(directory, "claim"), heartbeat);
      }),
    );
    const unsynced = [join(directory, "summary.json"), directory, ...changed];
    return { claim: filled, segments: continueLog(directory, filled, EMPTY_LOG), lastSeq: 0, lastTs: "", unsynced };
  };

  const continueLog = (directory: string, held: Claim, end: LogEnd): SegmentLog => {
    // A directory that lost its claim files in a crash starts counting anew; its segments must not.
    const fence = Math.max(held.fence, end.chain.fence + 1);
    return createSegmentLog({ directory, fence, end, openFiles });
  };

  const openLog = (id: string): OpenLog => {
    const directory = existing(id);
    const held = take(directory);
    try {
      const end = openFiles.withRoom(() => inspectLog(directory, (where) => onTornTail?.(id, where)));
      const segments = continueLog(directory, held, end);
      // A holder that did not release may still write: a segment of this process makes that invisible.
      if (held.isTakeover) segments.start();
      for (const path of summaries.drafts(directory)) rmSync(path, { force: true });
      return { claim: held, segments, lastSeq: end.lastSeq, lastTs: end.lastTs, unsynced: [] };
    } catch (error) {
      held.release();
      throw error;
    }
  };

  /** Lost records have no line in the copy: the gap says so, before the next record too. */
  const copyRecords = async (source: string, { segments }: OpenLog, upTo: number) => {
    let [lastSeq, lastTs] = [0, ""];
    await replayOf<E>(filesOf(source))({ from: 0, to: upTo }, (batch) => {
      lastSeq = lastOf(batch[batch.length - 1]!);
      const lines = batch.flatMap((entry) => ("line" in entry ? withChecksum(entry) : []));
      if (segments.write(lines) < lines.length) throw new StoreError("storage_full", "short write, the disk is full");
      lastTs = lines.at(-1)?.event.ts ?? lastTs;
    });
    return { lastSeq, lastTs };
  };

  const backend: Backend<E, S> = {
    create: async (id, summary) => hold(id, makeSession(id, summary)),
    claim: async (id) => hold(id, openLog(id)),
    async copy(from, to, { upTo, summary }) {
      const source = existing(from);
      const log = makeSession(to, summary);
      try {
        return hold(to, { ...log, ...(await copyRecords(source, log, upTo)) });
      } catch (error) {
        // While it is open, a file that is gone still takes its room on a disk that may be full.
        log.segments.close();
        log.claim.release();
        await rm(directoryOf(to), { recursive: true, force: true });
        throw error;
      }
    },
    has: async (id) => isSessionDirectory(directoryOf(id)),
    async head(id) {
      const directory = existing(id);
      return openFiles.withRoom(() => inspectLog(directory)).lastSeq;
    },
    read: async (id, range, taken) => replayOf<E>(filesOf(existing(id)))(range, taken),
    watch: (id, watcher) => follow(existing(id), watcher),
    async readSummary(id) {
      return isSessionDirectory(directoryOf(id)) ? summaries.read(directoryOf(id)) : null;
    },
    async writeSummary(id, summary) {
      await summaries.write(existing(id), summary);
    },
    async list(listOptions) {
      const ids = index.ids();
      // A page of the newest by id needs no more than its own rows.
      const refreshed = listOptions.limit === undefined || listOptions.order === "touched";
      if (refreshed) await index.refresh(ids);
      const latest = (id: string, time: number): number => Math.max(time, holds.get(id)?.touched ?? 0);
      const source: RowSource<S> = {
        touched(id) {
          const time = index.touched(id, refreshed);
          return time === null ? null : latest(id, time);
        },
        row(id) {
          const row = index.row(id, refreshed, listOptions.onUnreadable);
          return row === null ? null : { ...row, touched: latest(id, row.touched) };
        },
      };
      return pageOf(ids, source, listOptions);
    },
    async remove(id) {
      const directory = directoryOf(id);
      const held = holds.get(id);
      if (!isSessionDirectory(directory)) return held?.forget();
      const own = held ?? take(directory);
      await summaries.settled(directory);
      try {
        await removeSessionDirectory(directory);
        // Not released: by now the name may be that of a new session.
        held?.forget();
      } catch (error) {
        await own.release();
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      }
    },
    async sweep() {
      let swept = 0;
      for (const id of index.ids()) {
        try {
          const left = summaries.drafts(directoryOf(id)).length;
          if (left === 0 || holds.has(id)) continue;
          await hold(id, openLog(id)).release();
          swept += left;
        } catch {
          // Somebody has it, and the drafts may be theirs; or it is no session that can be opened.
        }
      }
      return swept;
    },
    async close() {
      await summaries.settled();
      heartbeat.stop();
    },
  };
  return backend;
}
