import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { StoreError, storageError } from "./errors.js";
import { listDrafts, replaceFile } from "./file/atomic-file.js";
import { type Claim, claim, claimUnseen } from "./file/claim.js";
import { createHeartbeat } from "./file/heartbeat.js";
import { EMPTY_LOG, inspectLog, type LogEnd } from "./file/inspect.js";
import { createLiveLogs } from "./file/live-logs.js";
import { createLogWriter, type FileLogWriter } from "./file/log-writer.js";
import { createOpenFiles } from "./file/open-files.js";
import { countTypes, readEntries, readLog } from "./file/read-log.js";
import { readRegular } from "./file/regular-file.js";
import { createSegmentLog, type SegmentLog } from "./file/segment-log.js";
import { createSessionIndex, parseSummary } from "./file/session-index.js";
import { createDiskSync } from "./file/sync.js";
import { LIMITS } from "./limits.js";
import { pageOf, type RowSource } from "./list.js";
import { createTick } from "./live/tick.js";
import { refused } from "./memory-store.js";
import { withChecksum } from "./record/encode.js";
import { createStamp } from "./record/stamp.js";
import { assertStorableId } from "./session-id.js";
import type { Damage, Durability, EventBody, EventStore, LogWriter } from "./types.js";

export interface FileStoreOptions {
  /** The data directory; sessions go to its `eventlog`, heartbeats to its `run`. Created on first use. */
  readonly root: string;
  /** @defaultValue "turn" */
  readonly durability?: Durability;
  /** @defaultValue Date.now */
  readonly now?: () => number;
  /** Told of a torn tail or damaged records found when a session is opened for writing. */
  readonly onDamage?: (id: string, damage: Damage) => void;
}

/** Sessions as directories of append-only segments. Other processes may read and follow them, and claim them when free. */
export function createFileStore<E extends EventBody, S extends object>(options: FileStoreOptions): EventStore<E, S> {
  const { durability = "turn", now = Date.now, onDamage } = options;
  const root = resolve(options.root);
  const eventlog = join(root, "eventlog");
  const heartbeat = createHeartbeat(join(root, "run"));
  const openFiles = createOpenFiles();
  const disk = createDiskSync(openFiles);
  const tick = createTick();
  const index = createSessionIndex<S>(eventlog);
  const directoryOf = (id: string): string => join(eventlog, id);
  const live = createLiveLogs<E>(directoryOf, openFiles);
  const summaryWrites = new Map<string, Promise<void>>();
  let closed = false;

  const usable = (id: string): void => {
    if (closed) throw new StoreError("closed", "the store is closed");
    assertStorableId(id);
  };

  const existing = (id: string): string => {
    usable(id);
    const directory = directoryOf(id);
    if (!isDirectory(directory)) throw new StoreError("not_found", `no session ${id}`);
    return directory;
  };

  /** Drafts of its summary that a killed process left. Only whose session it is writes one: ask while it is ours. */
  const draftsLeft = (id: string): string[] =>
    summaryWrites.has(id) ? [] : listDrafts(join(directoryOf(id), "summary.json"));

  const take = (directory: string): Claim => openFiles.withRoom(() => claim(join(directory, "claim"), { heartbeat }));

  /**
   * Makes a session's directory with its claim and its summary, which appears in one step: whoever gives it its name has
   * created the session. `unsynced` are the paths that a crash of the machine may still take back.
   */
  const makeSession = (id: string, summary: S): { held: Claim; directory: string; unsynced: string[] } => {
    usable(id);
    const directory = directoryOf(id);
    const text = formatSummary(summary);
    if (isTaken(directory)) throw new StoreError("exists", `session ${id} exists`);
    const unseen = unseenName(eventlog, "new", id);
    try {
      const parents = makeDirectory(unseen);
      const held = openFiles.withRoom(() => claimUnseen(join(unseen, "claim"), join(directory, "claim"), heartbeat));
      openFiles.withRoom(() => writeFileSync(join(unseen, "summary.json"), text, { mode: 0o600 }));
      renameSync(unseen, directory);
      return { held, directory, unsynced: [join(directory, "summary.json"), directory, ...parents] };
    } catch (error) {
      discard(unseen);
      if (isTaken(directory)) throw new StoreError("exists", `session ${id} exists`);
      throw storageError(error, `cannot create session ${id}`);
    }
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
    capabilities: { durable: true, crossProcess: true, rollup: true },

    async create(id, summary) {
      const { held, directory, unsynced } = makeSession(id, summary);
      return openWriter(id, held, continueLog(directory, held, EMPTY_LOG), "", unsynced);
    },

    async open(id) {
      const directory = existing(id);
      const held = take(directory);
      try {
        const end = openFiles.withRoom(() => inspectLog(directory, (damage) => onDamage?.(id, damage)));
        const segments = continueLog(directory, held, end);
        // Whoever did not release may still write: a segment of our own makes that invisible.
        if (held.isTakeover) segments.start();
        for (const path of draftsLeft(id)) rmSync(path, { force: true });
        return openWriter(id, held, segments, end.lastTs, []);
      } catch (error) {
        held.release();
        throw storageError(error, `cannot open session ${id}`);
      }
    },

    async has(id) {
      assertStorableId(id);
      return isDirectory(directoryOf(id));
    },

    async copy(from, to, { upTo, summary }) {
      const source = existing(from);
      const { held, directory, unsynced } = makeSession(to, summary);
      try {
        const segments = continueLog(directory, held, EMPTY_LOG);
        let lastTs = "";
        for await (const batch of readLog<E>(source, { from: 0, to: upTo }, openFiles)) {
          const lines = batch.map((entry) => withChecksum(entry));
          const bytes = Buffer.from(lines.map((entry) => `${entry.line}\n`).join(""));
          if (segments.write(lines, bytes) < lines.length) {
            throw new StoreError("storage_full", `session ${to}: short write, the disk is full`);
          }
          lastTs = batch[batch.length - 1]?.event.ts ?? lastTs;
        }
        return openWriter(to, held, segments, lastTs, unsynced);
      } catch (error) {
        held.release();
        await rm(directory, { recursive: true, force: true });
        throw storageError(error, `cannot copy session ${from}`);
      }
    },

    read(id, { from = 0, to = Number.MAX_SAFE_INTEGER, onDamage: report } = {}) {
      return readEntries<E>(() => readLog<E>(existing(id), { from, to, onDamage: report }, openFiles));
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
      return countTypes(existing(id), upTo, openFiles);
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
      try {
        const path = join(directoryOf(id), "summary.json");
        return parseSummary<S>(openFiles.withRoom(() => readRegular(path, LIMITS.summaryBytes)) ?? "");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
        throw storageError(error, `cannot read the summary of ${id}`);
      }
    },

    async writeSummary(id, summary) {
      const path = join(existing(id), "summary.json");
      const text = formatSummary(summary);
      // One after the other, so that the last call's summary is the one that stays.
      const write = (summaryWrites.get(id) ?? Promise.resolve()).then(() =>
        openFiles.replacements.run(() => openFiles.withRoomAsync(() => replaceFile(path, text, disk))),
      );
      const settled = write.catch(() => {});
      summaryWrites.set(id, settled);
      void settled.then(() => {
        if (summaryWrites.get(id) === settled) summaryWrites.delete(id);
      });
      await write.catch((error: unknown) => {
        throw storageError(error, `cannot write the summary of ${id}`);
      });
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
          const row = index.row(id, refreshed, listOptions.onDamage);
          return row === null ? null : { ...row, touched: latest(id, row.touched) };
        },
      };
      return pageOf(ids, source, listOptions);
    },

    async delete(id) {
      usable(id);
      const directory = directoryOf(id);
      if (!isDirectory(directory)) return live.end(id);
      const writer = live.get(id)?.writer;
      const held = writer?.claim ?? take(directory);
      writer?.abandon();
      live.end(id);
      await summaryWrites.get(id);
      const doomed = unseenName(eventlog, "deleted", id);
      try {
        // Gone in one step; what takes longer happens under a name nobody lists.
        renameSync(directory, doomed);
        await rm(doomed, { recursive: true, force: true });
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
          const left = draftsLeft(id).length;
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
      await Promise.all(summaryWrites.values());
      heartbeat.stop();
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  };
  return store;
}

// --- internal ---

function isTaken(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Not a link to one: what is written behind it would land wherever it leads. */
function isDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** A name that no list shows. */
function unseenName(eventlog: string, why: "new" | "deleted", id: string): string {
  return join(eventlog, `.${why}-${id}-${randomBytes(4).toString("hex")}`);
}

/** What cannot be removed is no reason to hide why it has to be. */
function discard(directory: string): void {
  try {
    rmSync(directory, { recursive: true, force: true });
  } catch {
    // Nobody sees the name, and the next collection of garbage tries again.
  }
}

/** Makes a directory, and its parents where there are none. Returns the directories that got a new name in them. */
function makeDirectory(directory: string): string[] {
  const parent = dirname(directory);
  try {
    mkdirSync(directory, { mode: 0o700 });
    return [parent];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const first = mkdirSync(parent, { recursive: true, mode: 0o700 }) ?? directory;
  const changed = makeDirectory(directory);
  for (let made = parent; made.length >= first.length; made = dirname(made)) changed.push(dirname(made));
  return changed;
}

function formatSummary(summary: object): string {
  try {
    return `${JSON.stringify(summary, null, 2)}\n`;
  } catch (cause) {
    throw new StoreError("invalid_event", "the summary cannot be written as JSON", { cause });
  }
}
