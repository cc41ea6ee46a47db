import { read } from "node:fs";
import { basename, join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { lastOf } from "../../backend/line.js";
import { batches, type Replay, type ReplayRange } from "../../backend/replay.js";
import { StoreError, storageError } from "../../errors.js";
import { LIMITS } from "../../limits.js";
import type { EventBody, LogEntry } from "../../types.js";
import { type EventFile, readEventFiles } from "../event-files.js";
import type { OpenFiles } from "../open-files.js";
import { lendChunk, openRegular, takeChunkBack } from "../regular-file.js";
import { type ChainSegment, loadChain } from "./chain.js";
import { type Page, type PagedSegment, readPages } from "./page.js";
import type { Place } from "./parse.js";

/** The files of one log. Whatever cannot be read throws a StoreError that names the session. */
export type LogFiles = ReturnType<ReturnType<typeof createLogFiles>>;

/** Between two pages a replay holds its place and a descriptor that others may take: its reader may never come back. */
export function createLogFiles(openFiles: OpenFiles) {
  let replays = 0;
  return (directory: string) => {
    const unreadable = (error: unknown): StoreError =>
      storageError(error, `cannot read session ${basename(directory)}`);

    const chain = () => {
      try {
        return openFiles.withRoom(() => loadChain(directory));
      } catch (error) {
        throw unreadable(error);
      }
    };

    /** The records of the one-file-per-event layout. */
    function* events<E extends EventBody>(files: readonly EventFile[], range: ReplayRange): Iterable<LogEntry<E>> {
      try {
        yield* readEventFiles(directory, files, range);
      } catch (error) {
        throw unreadable(error);
      }
    }

    /** Reads a segment page by page. `next` is the one after it. */
    const open = <E extends EventBody>({ name, first, limit }: ChainSegment, next: ChainSegment | undefined) => {
      const descriptor = {};
      let place: Place | null = { offset: 0, first };
      let atHand: Page<E>[] = [];
      let ahead: Promise<Page<E>[] | null> | null = null;
      replays++;

      const openSegment = (): number => {
        const file = openRegular(join(directory, name));
        if (file !== null) return file.fd;
        throw new StoreError("io", `cannot read session ${basename(directory)}: ${name} is not a file`);
      };

      const load = (from: Place): Promise<Page<E>[]> =>
        openFiles.reading(async () => {
          const chunk = lendChunk();
          try {
            const fd = openFiles.use(descriptor, openSegment);
            openFiles.pin(descriptor);
            const segment: PagedSegment = {
              next: next?.first ?? null,
              async read(memory, offset) {
                const want = Math.min(memory.length, (limit ?? Number.POSITIVE_INFINITY) - offset);
                const { bytesRead } = want > 0 ? await readBytes(fd, memory, 0, want, offset) : { bytesRead: 0 };
                return memory.subarray(0, bytesRead);
              },
            };
            return await readPages<E>(segment, from, replays > AHEAD ? chunk.subarray(0, LIMITS.pageBytes) : chunk);
          } catch (error) {
            throw unreadable(error);
          } finally {
            takeChunkBack(chunk);
            openFiles.unpin(descriptor);
          }
        });

      return {
        /** Where the next page begins; null after the last one. */
        get place() {
          return place;
        },
        /**
         * Gives the next page to `use` and resolves with what that returns; null after the last one. A promise of the page itself would
         * hold it: it is as old as the wait for the disk, and the collector looks at the old last.
         */
        async next<T>(use: (page: Page<E>) => T): Promise<T | null> {
          if (place === null) return null;
          if (atHand.length === 0) atHand = (await ahead) ?? (await load(place));
          ahead = null;
          const page = atHand.shift()!;
          place = page.next;
          // A read ahead that fails is tried again when its page is asked for.
          if (atHand.length === 0 && place !== null && replays <= AHEAD) ahead = load(place).catch(() => null);
          return use(page);
        },
        async close() {
          replays--;
          place = null;
          await ahead;
          openFiles.drop(descriptor);
        },
      };
    };

    /** Hands over the entries of a range in batches of about 64 KiB, each when the one before was taken. */
    const replay = async <E extends EventBody>(range: ReplayRange, wanted: Take<E>): Promise<void> => {
      const { files, segments } = chain();
      const take: Take<E> = (batch) => {
        const within = clip(batch, range);
        // A reader may leave while a page is read for it.
        return within.length === 0 || range.isOver?.() ? undefined : wanted(within);
      };
      for (const batch of batches(events<E>(files, range))) {
        await take(batch);
        // Files are read at once, however many there are: others get their turn in between.
        await nextTurn();
        if (range.isOver?.()) return;
      }
      // The name of a segment tells where to begin.
      const holder = segments.findLastIndex((segment) => segment.first <= range.from + 1);
      const begin = Math.max(0, holder);
      const first = segments[begin]?.first ?? 0;
      const last = files.at(-1)?.seq ?? 0;
      if (first > last + 1) await take([{ type: "lost", seq: last + 1, last: first - 1, reason: "missing" }]);
      for (let i = begin; i < segments.length; i++) {
        const segment = segments[i]!;
        if (segment.first > range.to || range.isOver?.()) return;
        const reader = open<E>(segment, segments[i + 1]);
        try {
          while (reader.place !== null && reader.place.first <= range.to && !range.isOver?.()) {
            const step = await reader.next(({ entries }) => ({ taken: take(entries) }));
            await step?.taken;
          }
        } finally {
          await reader.close();
        }
      }
    };

    return { chain, replay };
  };
}

// --- internal ---

type Take<E extends EventBody> = Parameters<Replay<E>>[1];

/** Replays that may keep what they read before it is wanted; while more are under way each reads one page at a time. */
const AHEAD = 4;

const readBytes = promisify(read);

function clip<E extends EventBody>(entries: readonly LogEntry<E>[], { from, to }: ReplayRange): readonly LogEntry<E>[] {
  const [first, last] = [entries[0], entries[entries.length - 1]];
  if (first === undefined || last === undefined || (first.seq > from && lastOf(last) <= to)) return entries;
  return entries.flatMap((entry) => {
    const seq = Math.max(entry.seq, from + 1);
    const end = Math.min(lastOf(entry), to);
    if (seq > end) return [];
    return "line" in entry ? entry : { ...entry, seq, last: end };
  });
}
