import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { StoreError, storageError } from "./errors.js";
import { type Claim, claim, isHeld } from "./file/claim.js";
import { createHeartbeat } from "./file/heartbeat.js";
import { inspectLog, type LogEnd } from "./file/inspect.js";
import { createLiveLogs } from "./file/live-logs.js";
import { createLogFiles } from "./file/log-files.js";
import { createLogWriter, type FileLogWriter } from "./file/log-writer.js";
import { createOpenFiles } from "./file/open-files.js";
import { countTypes, replayOf } from "./file/replay-log.js";
import { isSessionDirectory, removeSessionDirectory, restoreReplaced } from "./file/session-directory.js";
import { createSessionIndex, type ListWork } from "./file/session-index.js";
import { birthOf, createSessionMakers, type OpenLog, startLog } from "./file/session-makers.js";
import { createSummaries } from "./file/summaries.js";
import { createDiskSync } from "./file/sync.js";
import { LIMITS } from "./limits.js";
import { isPrompted, pageOf, type RowSource } from "./list.js";
import { refused } from "./live/broadcast.js";
import { createTick } from "./live/tick.js";
import { createStamp } from "./record/stamp.js";
import { readEntries } from "./replay.js";
import { assertStorableId } from "./session-id.js";
import type { Damage, Durability, EventBody, EventStore, ListedSession, LogWriter, SummaryForm } from "./types.js";

export interface FileStoreOptions<E extends EventBody = EventBody, S extends object = object> {
  /** The data directory; sessions go to its `eventlog`, heartbeats to its `run`. Created on first use. */
  readonly root: string;
  /** @defaultValue "turn" */
  readonly durability?: Durability;
  /** @defaultValue Date.now */
  readonly clock?: () => number;
  /** @defaultValue none: summaries are kept as they are given, and a lost one stays lost */
  readonly summaries?: SummaryForm<E, S>;
  /** Told of a torn tail or damaged records found when a session is opened for writing. */
  readonly onDamage?: (id: string, damage: Damage) => void;
}

/** Sessions as directories of append-only segments. Other processes may read and follow them, and claim them when free. */
export function createFileStore<E extends EventBody, S extends object>(
  options: FileStoreOptions<E, S>,
): EventStore<E, S> {
  const { durability = "turn", clock: now = Date.now, onDamage, summaries: form } = options;
  const root = resolve(options.root);
  const eventlog = join(root, "eventlog");
  const heartbeat = createHeartbeat(join(root, "run"));
  const openFiles = createOpenFiles();
  const disk = createDiskSync(openFiles);
  const tick = createTick();
  const directoryOf = (id: string): string => join(eventlog, id);
  const filesOf = createLogFiles(openFiles);
  const index = createSessionIndex<E, S>({ directory: eventlog, filesOf, form });
  const live = createLiveLogs<E>((id) => filesOf(directoryOf(id)));
  const summaries = createSummaries<S>(openFiles, disk);
  const makers = createSessionMakers<E, S>({ openFiles, disk, heartbeat, form, clock: now });
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

  const openWriter = (id: string, { held, segments, lastTs, unsynced }: OpenLog): LogWriter<E> => {
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

  const storedSummary = (id: string, directory: string): S | null => {
    const stored = summaries.read(directory);
    return stored === null ? null : form === undefined ? (stored as S) : form.read(id, stored);
  };

  /** A log of version 0.1 does not say how its session was born; its next segment does. */
  const knownBirth = (id: string, directory: string, { chain }: LogEnd): object | undefined =>
    chain.segments.findLast((segment) => segment.header?.birth)?.header?.birth ??
    birthOf(form, storedSummary(id, directory));

  /** A process that died while a turn ran left that in its summary. */
  const shown = ({ id, summary }: ListedSession<S>): S => {
    const unheld = form?.unheld(summary) ?? summary;
    if (unheld === summary || live.get(id)?.writer) return summary;
    try {
      return isHeld(join(directoryOf(id), "claim"), heartbeat) ? summary : unheld;
    } catch {
      return summary;
    }
  };

  const store: EventStore<E, S> = {
    capabilities: { durable: true, crossProcess: true, rollup: true },

    async create(id, summary) {
      usable(id);
      return openWriter(id, makers.create(directoryOf(id), summary));
    },

    async open(id) {
      const directory = existing(id);
      const held = take(directory);
      try {
        const end = openFiles.withRoom(() => inspectLog(directory, (damage) => onDamage?.(id, damage)));
        const segments = startLog({ path: directory }, held.fence, end, knownBirth(id, directory, end), openFiles);
        // Whoever did not release may still write: a segment of our own makes that invisible.
        if (held.isTakeover) segments.start();
        for (const path of summaries.drafts(directory)) rmSync(path, { force: true });
        return openWriter(id, { held, segments, lastTs: end.lastTs, unsynced: [] });
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
      const source = filesOf(existing(from));
      usable(to);
      return openWriter(to, await makers.copy(source, directoryOf(to), { upTo, summary }));
    },

    async importLog(id, log) {
      usable(id);
      const directory = directoryOf(id);
      // Held until it is replaced, so that nobody writes to a log that goes.
      const replaced = log.replace && isSessionDirectory(directory) ? take(directory) : null;
      try {
        await makers.importLog(directory, log, replaced === null ? null : () => live.end(id));
      } catch (error) {
        replaced?.release();
        throw storageError(error, `cannot import session ${id}`);
      }
    },

    read(id, { from = 0, to = Number.MAX_SAFE_INTEGER, onDamage: report } = {}) {
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
        { from, to, onDamage: report },
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

    async counts(id, upTo) {
      return countTypes(filesOf(existing(id)), upTo);
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
      const directory = directoryOf(id);
      if (!isSessionDirectory(directory)) return null;
      const summary = storedSummary(id, directory);
      if (form === undefined || (summary !== null && isPrompted(summary))) return summary;
      const row = await index.row(id, { checked: false, logBytes: Number.POSITIVE_INFINITY });
      return row?.summary ?? summary;
    },

    async writeSummary(id, summary, { sync = true } = {}) {
      await summaries.write(existing(id), summary, sync);
    },

    async list(listOptions = {}) {
      if (closed) throw new StoreError("closed", "the store is closed");
      const ids = index.ids();
      // A page of the newest by id needs no more than its own rows.
      const refreshed = listOptions.limit === undefined || listOptions.order === "touched";
      if (refreshed) await index.refresh(ids);
      const latest = (id: string, touched: number): number => Math.max(touched, live.get(id)?.touched ?? 0);
      const work: ListWork = { checked: refreshed, logBytes: LIMITS.derivedBytes, onDamage: listOptions.onDamage };
      const listed = (row: ListedSession<S> | null): ListedSession<S> | null =>
        row && { id: row.id, summary: shown(row), touched: latest(row.id, row.touched) };
      const source: RowSource<S> = {
        touched(id) {
          const touched = index.touched(id, refreshed);
          return touched === null ? null : latest(id, touched);
        },
        row(id) {
          const row = index.row(id, work);
          return row instanceof Promise ? row.then(listed) : listed(row);
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
      let swept = restoreReplaced(eventlog, now());
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
