import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Backend, Held } from "../backend/backend.js";
import { createStore, type StoreOptions } from "../backend/create-store.js";
import { isPrompted, pageOf, parsePageEnd, type RowSource } from "../backend/list.js";
import { type Claim, claim, isHeld } from "../claim/claim.js";
import { createHeartbeat } from "../claim/heartbeat.js";
import { StoreError } from "../errors.js";
import { LIMITS } from "../limits.js";
import { orElse } from "../or-else.js";
import type { EventBody, EventStore, ListedSession, SummaryForm } from "../types.js";
import { createDiskSync, createOpenFiles } from "./disk.js";
import { createFollowing } from "./follow.js";
import { createHeldLog, type HeldLog, type OpenLog } from "./held-log.js";
import { isSessionDirectory, refuseForeign, removeSessionDirectory } from "./index/session-directory.js";
import { createSessionIndex, type ListWork, type SessionIndex } from "./index/session-index.js";
import { createSummaries, shapedBy } from "./index/summaries.js";
import type { Chain } from "./segment/chain.js";
import { inspectLog, type LogEnd } from "./segment/log-end.js";
import { createLogFiles, type LogFiles } from "./segment/log-files.js";
import { replayOf } from "./segment/replay-log.js";
import { createSegmentLog } from "./segment/segment-log.js";
import { birthOf, createSessionMakers } from "./session-makers.js";

export interface FileStoreOptions<E extends EventBody = EventBody, S extends object = object> extends StoreOptions {
  /** The data directory: sessions are stored in its `eventlog`, heartbeats in its `run`. Created on first use. */
  readonly root: string;
  /** @defaultValue 2, which leaves half of Node's four threads for files to other work */
  readonly syncsInFlight?: number;
  /** The name of this process in its claims, so that other processes can say which program holds a session. */
  readonly program?: string;
  /** Milliseconds of a monotonic clock, which measures how long another process was silent. @defaultValue this process's uptime */
  readonly monotonic?: () => number;
  /** @defaultValue none: summaries are stored as given, and a lost one cannot be made again */
  readonly summaries?: SummaryForm<E, S>;
  /** Called when a session opened for writing ends in a record that a crash cut off; `where` names the file and the byte. */
  readonly onTornTail?: (id: string, where: string) => void;
}

/**
 * Sessions as directories of append-only segments. Other processes may read and follow them, and claim them when free.
 *
 * @example
 * const store = createFileStore({ root: "/var/lib/mine" });
 * const writer = await store.create("mine-20260425T120300-aaaa1111", { title: "hello" });
 */
export function createFileStore<E extends EventBody, S extends object>(
  options: FileStoreOptions<E, S>,
): EventStore<E, S> {
  return createStore(createFileBackend<E, S>(options), options);
}

// --- internal ---

function createFileBackend<E extends EventBody, S extends object>(options: FileStoreOptions<E, S>): Backend<E, S> {
  const { clock = Date.now, summaries: form, onTornTail } = options;
  const root = resolve(options.root);
  const eventlog = join(root, "eventlog");
  const heartbeat = createHeartbeat(join(root, "run"), options.program, options.monotonic);
  const openFiles = createOpenFiles();
  const disk = createDiskSync(openFiles, options.syncsInFlight);
  const directoryOf = (id: string): string => join(eventlog, id);
  const filesOf = createLogFiles(openFiles);
  const index = createSessionIndex<E, S>({ directory: eventlog, filesOf, form });
  const follow = createFollowing<E>();
  const summaries = createSummaries<S>(openFiles, disk);
  const makers = createSessionMakers<E, S>({ openFiles, disk, heartbeat, form });
  const leftovers = createSweep(async (dryRun) => {
    const { sweepHidden } = await import("./sweep.js");
    return sweepHidden(eventlog, clock(), heartbeat, dryRun);
  });
  const holds = new Map<string, HeldLog>();

  const existing = (id: string): string => {
    const directory = directoryOf(id);
    if (!isSessionDirectory(directory)) throw new StoreError("not_found", `no session ${id}`);
    return directory;
  };

  const take = (directory: string): Claim => openFiles.withRoom(() => claim(join(directory, "claim"), { heartbeat }));

  const hold = (id: string, log: OpenLog): Held => {
    // The sweep begins only now, because a process that only reads must not change anything.
    leftovers.start();
    const deps = { id, directory: directoryOf(id), heartbeat, openFiles, disk, clock, onSynced: makers.onSynced };
    const held = createHeldLog(log, { ...deps, onEnd: () => holds.delete(id) });
    holds.set(id, held);
    return held;
  };

  const shaped = shapedBy(form);

  /** The session's birth from the newest header that has one. A log of version 0.1 has none, so it comes from the summary. */
  const knownBirth = (id: string, directory: string, { chain }: LogEnd): object | undefined =>
    chain.segments.findLast((segment) => segment.header?.birth)?.header?.birth ??
    birthOf(form, shaped(id, summaries.read(directory)));

  const maybeHeld = (id: string): boolean =>
    orElse(() => holds.has(id) || isHeld(join(directoryOf(id), "claim"), heartbeat), true);
  const latest = (id: string, time: number): number => Math.max(time, holds.get(id)?.touched ?? 0);
  const list = createList<S>({ index, maybeHeld, latest, unheld: (summary) => form?.unheld(summary) ?? summary });

  /** Throws when the log of a session that had prompts is gone: an empty log would give the same numbers out again. */
  const requireLog = (id: string, { segments, files }: Chain): void => {
    if (segments.length + files.length > 0) return;
    const written = summaries.read(directoryOf(id)) as { readonly turns?: unknown } | null;
    const isReadable = shaped(id, written as S | null) !== null;
    // The summary as stored: a program that kept no log does not count turns, and the shaped summary would claim one.
    if (isReadable && !(Number(written?.turns) > 0)) return;
    const why = !isReadable ? "neither its summary nor its log can be read" : "its log is gone, or holds only zeros";
    const todo = "put its files back from a backup, or delete it";
    throw new StoreError("damaged", `session ${id} is damaged: ${why}; ${todo}`);
  };

  const logFiles = (id: string): LogFiles => {
    const files = filesOf(existing(id));
    requireLog(id, files.chain());
    return files;
  };

  const openLog = (id: string): OpenLog => {
    const directory = existing(id);
    const held = take(directory);
    try {
      const end = openFiles.withRoom(() => inspectLog(directory, (where) => onTornTail?.(id, where)));
      requireLog(id, end.chain);
      const birth = knownBirth(id, directory, end);
      const segments = createSegmentLog({ place: { path: directory }, fence: held.fence, end, birth, openFiles });
      // A holder that did not release may still write: a new segment of this process keeps those writes out of the log.
      if (held.isTakeover) segments.start();
      for (const path of summaries.drafts(directory)) rmSync(path, { force: true });
      const unsynced = end.lastSeq === 0 ? makers.unsyncedOf(directory) : [];
      return { claim: held, segments, lastSeq: end.lastSeq, lastTs: end.lastTs, unsynced };
    } catch (error) {
      held.release();
      throw error;
    }
  };

  return {
    create: async (id, summary) => hold(id, makers.create(directoryOf(id), summary)),
    claim: async (id) => hold(id, openLog(id)),
    copy: async (from, to, copied) => hold(to, await makers.copy(logFiles(from), directoryOf(to), copied)),
    async importLog(id, log) {
      const directory = directoryOf(id);
      // Claim the session until it is replaced, so that no process writes to a log that is about to go.
      const replaces = log.onReplace !== null && isSessionDirectory(directory);
      if (replaces) refuseForeign(directory);
      const replaced = replaces ? take(directory) : null;
      try {
        await makers.importLog(directory, log);
      } catch (error) {
        replaced?.release();
        throw error;
      }
    },
    has: async (id) => isSessionDirectory(directoryOf(id)),
    async head(id) {
      const directory = existing(id);
      return openFiles.withRoom(() => inspectLog(directory)).lastSeq;
    },
    async read(id, range, taken) {
      let isEmpty = range.from === 0;
      await replayOf<E>(filesOf(existing(id)))(range, (batch) => {
        isEmpty = false;
        return taken(batch);
      });
      if (isEmpty) logFiles(id);
    },
    watch(id, watcher) {
      logFiles(id);
      return follow(directoryOf(id), watcher);
    },
    async readSummary(id) {
      const directory = directoryOf(id);
      if (!isSessionDirectory(directory)) return null;
      const stored = summaries.read(directory);
      const summary = shaped(id, stored);
      if (form === undefined) return summary;
      if (summary !== null && isPrompted(summary) && !form.isOutdated(stored!)) return summary;
      return (await index.fromLog(id))?.summary ?? summary;
    },
    async writeSummary(id, summary, sync) {
      // A session that this process holds exists, so the check is skipped; if it was removed by force, the write fails.
      await summaries.write(holds.has(id) ? directoryOf(id) : existing(id), summary, sync);
    },
    list,
    async remove(id) {
      const directory = directoryOf(id);
      const held = holds.get(id);
      if (!isSessionDirectory(directory)) return held?.forget();
      refuseForeign(directory);
      const own = held ?? take(directory);
      await summaries.settled(directory);
      try {
        await removeSessionDirectory(directory);
        // Sync, so that a deleted session does not come back after a crash of the machine.
        await disk.path(eventlog);
        // Do not release the claim: its path may belong to a new session by now.
        held?.forget();
      } catch (error) {
        await own.release();
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      }
    },
    async sweep(dryRun) {
      let swept = await leftovers.sweep(dryRun);
      for (const id of index.ids()) {
        try {
          const left = summaries.drafts(directoryOf(id)).length;
          if (left === 0 || (dryRun ? maybeHeld(id) : holds.has(id))) continue;
          if (!dryRun) await hold(id, openLog(id)).release();
          swept += left;
        } catch {
          // Another process holds it and may be writing the drafts, or it cannot be opened.
        }
      }
      return swept;
    },
    async close() {
      leftovers.stop();
      await summaries.settled();
      heartbeat.stop();
    },
  };
}

/** Returns the list of an index. `latest` knows of this process's own writes, `maybeHeld` whether a live process may hold a session. */
function createList<S extends object>(deps: {
  readonly index: SessionIndex<S>;
  readonly latest: (id: string, touched: number) => number;
  readonly maybeHeld: (id: string) => boolean;
  readonly unheld: (summary: S) => S;
}): Backend<EventBody, S>["list"] {
  const { index, latest, maybeHeld, unheld } = deps;
  const listed = (row: ListedSession<S> | null): ListedSession<S> | null => {
    if (row === null) return null;
    const { id, summary, touched } = row;
    // If its process died during a turn, the summary still says that the turn runs.
    const ended = unheld(summary);
    const shown = ended === summary || maybeHeld(id) ? summary : ended;
    return { id, summary: shown, touched: latest(id, touched) };
  };
  return async (options) => {
    const ids = index.ids();
    const { limit, order, after, onUnreadable } = options;
    // A page ordered by id needs to check only its own rows.
    const checked = limit === undefined || order === "touched";
    const start = order === "touched" && after !== undefined ? parsePageEnd(after)[0] : Number.POSITIVE_INFINITY;
    // Sessions that were written since the last refresh come before this page, and the page checks its own rows one by one.
    const isSettled = index.isSettled(start);
    if (checked && !isSettled) await index.refresh(ids);
    const work: ListWork = { checked, logBytes: LIMITS.derivedBytes, onUnreadable };
    const source: RowSource<S> = {
      touched(id) {
        const time = index.touched(id, checked);
        return time === null ? null : latest(id, time);
      },
      row(id) {
        if (isSettled && (index.touched(id, false) ?? Number.POSITIVE_INFINITY) > start) return null;
        const row = index.row(id, work);
        return row instanceof Promise ? row.then(listed) : listed(row);
      },
    };
    return pageOf(ids, source, options);
  };
}

/** Sweeps again and again from `start` on, and also when it is called. */
function createSweep(sweep: (dryRun: boolean) => Promise<number>) {
  let timer: NodeJS.Timeout | undefined;
  return {
    sweep,
    start(): void {
      timer ??= setInterval(() => sweep(false).catch(() => {}), LIMITS.sweepMs).unref();
    },
    stop: () => clearInterval(timer),
  };
}
