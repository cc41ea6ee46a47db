import { rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { refused } from "../backend/broadcast.js";
import { createStamp, withChecksum } from "../backend/encode.js";
import { lastOf } from "../backend/entry.js";
import { createLogWriter, type FileLogWriter } from "../backend/log-writer.js";
import { readEntries } from "../backend/replay.js";
import { type Claim, claim, claimUnseen } from "../claim/claim.js";
import { createHeartbeat } from "../claim/heartbeat.js";
import { StoreError, storageError } from "../errors.js";
import { pageOf, type RowSource } from "../list.js";
import { createTick } from "../live/tick.js";
import { assertStorableId } from "../session-id.js";
import type { Durability, EventBody, EventStore, LogWriter } from "../types.js";
import { createLiveLogs } from "./live-logs.js";
import { createOpenFiles } from "./open-files.js";
import { EMPTY_LOG, inspectLog, type LogEnd } from "./segment/log-end.js";
import { createLogFiles } from "./segment/log-files.js";
import { replayOf } from "./segment/replay-log.js";
import { createSegmentLog, type SegmentLog } from "./segment/segment-log.js";
import { isSessionDirectory, makeSessionDirectory, removeSessionDirectory } from "./session-directory.js";
import { createSessionIndex } from "./session-index.js";
import { createSummaries, formatSummary } from "./summaries.js";
import { createDiskSync } from "./sync.js";

export interface FileStoreOptions {
  /** The data directory; sessions go to its `eventlog`, heartbeats to its `run`. Created on first use. */
  readonly root: string;
  /** @defaultValue "turn" */
  readonly durability?: Durability;
  /** @defaultValue Date.now */
  readonly clock?: () => number;
  /** Called when a session that is opened for writing ends in a record that a crash cut off; `where` names the file and the byte. */
  readonly onTornTail?: (id: string, where: string) => void;
}

/** Sessions as directories of append-only segments. Other processes may read and follow them, and claim them when free. */
export function createFileStore<E extends EventBody, S extends object>(options: FileStoreOptions): EventStore<E, S> {
  const { durability = "turn", clock: now = Date.now, onTornTail } = options;
  const root = resolve(options.root);
  const eventlog = join(root, "eventlog");
  const heartbeat = createHeartbeat(join(root, "run"));
  const openFiles = createOpenFiles();
  const disk = createDiskSync(openFiles);
  const tick = createTick();
  const index = createSessionIndex<S>(eventlog);
  const directoryOf = (id: string): string => join(eventlog, id);
  const filesOf = createLogFiles(openFiles);
  const live = createLiveLogs<E>((id) => filesOf(directoryOf(id)));
  const summaries = createSummaries<S>(openFiles, disk);
  let closed = false;

  const usable = (id: string): void => {
    if (closed) throw new StoreError("closed", "the store is closed");
    assertStorableId(id);
  };

  const existing = (id: string): string => {
    usable(id);
    const directory = directoryOf(id);
    if (!isSessionDirectory(directory)) throw new StoreError("not_found", `no session ${id}`);
    return directory;
  };

  const take = (directory: string): Claim => openFiles.withRoom(() => claim(join(directory, "claim"), { heartbeat }));

  /** `unsynced` are the paths that a crash of the machine may still take back. */
  const makeSession = (id: string, summary: S): { held: Claim; directory: string; unsynced: string[] } => {
    usable(id);
    const directory = directoryOf(id);
    const text = formatSummary(summary);
    const { filled: held, changed } = makeSessionDirectory(directory, (unseen) =>
      openFiles.withRoom(() => {
        writeFileSync(join(unseen, "summary.json"), text, { mode: 0o600 });
        return claimUnseen(join(unseen, "claim"), join(directory, "claim"), heartbeat);
      }),
    );
    return { held, directory, unsynced: [join(directory, "summary.json"), directory, ...changed] };
  };

  const openWriter = (
    id: string,
    held: Claim,
    segments: SegmentLog,
    lastTs: string,
    unsynced: string[],
  ): LogWriter<E> => {
    const log = live.forWriting(id, segments.writtenSeq);
    const writer: FileLogWriter<E> = createLogWriter<E>({
      id,
      claim: held,
      heartbeat,
      segments,
      durability,
      stamp: createStamp(now, lastTs),
      tick,
      openFiles,
      disk,
      unsynced,
      directory: directoryOf(id),
      publish(batch) {
        log.touched = now();
        log.broadcast.publish(batch);
      },
      onClose: () => live.writerClosed(id),
    });
    log.writer = writer;
    return writer;
  };

  const continueLog = (directory: string, held: Claim, end: LogEnd): SegmentLog => {
    // A directory that lost its claim files in a crash starts counting anew; its segments must not.
    const fence = Math.max(held.fence, end.chain.fence + 1);
    return createSegmentLog({ directory, fence, end, openFiles });
  };

  const store: EventStore<E, S> = {
    async create(id, summary) {
      const { held, directory, unsynced } = makeSession(id, summary);
      return openWriter(id, held, continueLog(directory, held, EMPTY_LOG), "", unsynced);
    },

    async open(id) {
      const directory = existing(id);
      const held = take(directory);
      try {
        const end = openFiles.withRoom(() => inspectLog(directory, (where) => onTornTail?.(id, where)));
        const segments = continueLog(directory, held, end);
        // Whoever did not release may still write: a segment of our own makes that invisible.
        if (held.isTakeover) segments.start();
        for (const path of summaries.drafts(directory)) rmSync(path, { force: true });
        return openWriter(id, held, segments, end.lastTs, []);
      } catch (error) {
        held.release();
        throw storageError(error, `cannot open session ${id}`);
      }
    },

    async has(id) {
      assertStorableId(id);
      return isSessionDirectory(directoryOf(id));
    },

    async copy(from, to, { upTo, summary }) {
      const source = existing(from);
      const { held, directory, unsynced } = makeSession(to, summary);
      const segments = continueLog(directory, held, EMPTY_LOG);
      try {
        let lastTs = "";
        let reached = 0;
        await replayOf<E>(filesOf(source))({ from: 0, to: upTo }, (batch) => {
          reached = lastOf(batch[batch.length - 1]!);
          const lines = batch.flatMap((entry) => ("line" in entry ? withChecksum(entry) : []));
          if (lines.length === 0) return;
          const bytes = Buffer.from(lines.map((entry) => `${entry.line}\n`).join(""));
          if (segments.write(lines, bytes) < lines.length) {
            throw new StoreError("storage_full", `session ${to}: short write, the disk is full`);
          }
          lastTs = lines[lines.length - 1]!.event.ts;
        });
        // Lost records have no line in the copy. Between records the gap says so; at the end only the next segment can.
        if (reached > segments.writtenSeq) segments.skipTo(reached);
        return openWriter(to, held, segments, lastTs, unsynced);
      } catch (error) {
        // While it is open, a file that is gone still takes its room on a disk that may be full.
        segments.close();
        held.release();
        await rm(directory, { recursive: true, force: true });
        throw storageError(error, `cannot copy session ${from}`);
      }
    },

    read(id, { from = 0, to = Number.MAX_SAFE_INTEGER } = {}) {
      return readEntries<E>(
        () => {
          const replay = replayOf<E>(filesOf(existing(id)));
          return async (range, take) => {
            // What this process appended it reads, though the tick is not over; what could not be written is not there.
            await live
              .get(id)
              ?.writer?.written()
              .catch(() => {});
            await replay(range, take);
          };
        },
        { from, to },
      );
    },

    subscribe(id, subscribeOptions, reader) {
      try {
        existing(id);
        return live.forReading(id).broadcast.subscribe(subscribeOptions, reader);
      } catch (error) {
        return refused(storageError(error, `cannot read session ${id}`));
      }
    },

    async lastSeq(id) {
      const directory = existing(id);
      const writer = live.get(id)?.writer;
      try {
        return writer ? writer.writtenSeq : openFiles.withRoom(() => inspectLog(directory)).lastSeq;
      } catch (error) {
        throw storageError(error, `cannot read session ${id}`);
      }
    },

    async readSummary(id) {
      usable(id);
      return isSessionDirectory(directoryOf(id)) ? summaries.read(directoryOf(id)) : null;
    },

    async writeSummary(id, summary) {
      await summaries.write(existing(id), summary);
    },

    async list(listOptions = {}) {
      if (closed) throw new StoreError("closed", "the store is closed");
      const ids = index.ids();
      // A page of the newest by id needs no more than its own rows.
      const refreshed = listOptions.limit === undefined || listOptions.order === "touched";
      if (refreshed) await index.refresh(ids);
      const latest = (id: string, touched: number): number => Math.max(touched, live.get(id)?.touched ?? 0);
      const source: RowSource<S> = {
        touched(id) {
          const touched = index.touched(id, refreshed);
          return touched === null ? null : latest(id, touched);
        },
        row(id) {
          const row = index.row(id, refreshed, listOptions.onUnreadable);
          return row === null ? null : { ...row, touched: latest(id, row.touched) };
        },
      };
      return pageOf(ids, source, listOptions);
    },

    async delete(id) {
      usable(id);
      const directory = directoryOf(id);
      if (!isSessionDirectory(directory)) return live.end(id);
      const writer = live.get(id)?.writer;
      const held = writer?.claim ?? take(directory);
      writer?.abandon();
      live.end(id);
      await summaries.settled(directory);
      try {
        await removeSessionDirectory(directory);
      } catch (error) {
        held.release();
        if ((error as NodeJS.ErrnoException).code !== "ENOENT")
          throw storageError(error, `cannot delete session ${id}`);
      }
    },

    async sweep() {
      let swept = 0;
      for (const id of index.ids()) {
        try {
          const left = summaries.drafts(directoryOf(id)).length;
          if (left === 0 || live.get(id)?.writer) continue;
          await (await store.open(id)).close();
          swept += left;
        } catch {
          // Somebody has it, and the drafts may be theirs; or it is no session that can be opened.
        }
      }
      return swept;
    },

    async close() {
      if (closed) return;
      closed = true;
      const results = await Promise.allSettled(live.writers().map((writer) => writer.close()));
      live.endAll();
      await summaries.settled();
      heartbeat.stop();
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  };
  return store;
}
