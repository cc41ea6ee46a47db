import { read } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { StoreError, storageError } from "../../errors.js";
import { LIMITS } from "../../limits.js";
import type { EventBody, LogEntry } from "../../types.js";
import type { OpenFiles } from "../disk.js";
import { type EventFile, readEventFiles } from "../event-files.js";
import { lendChunk, openRegular, takeChunkBack } from "../regular-file.js";
import { type ChainSegment, loadChain } from "./chain.js";
import { type Page, type PagedSegment, readPages } from "./page.js";
import type { ParseStart } from "./parse.js";

/** The files of one log, for replays. A file that cannot be read throws a StoreError that names the session. */
export type LogFiles = ReturnType<ReturnType<typeof createLogFiles>>;

/** Up to this many replays read ahead; while more are under way, each reads one page at a time. */
const AHEAD = 4;

/** Between two pages a replay holds only its place and a descriptor that others may close, because its reader may never come back. */
export function createLogFiles(openFiles: OpenFiles) {
  let replays = 0;
  return (directory: string) => ({
    chain() {
      try {
        return openFiles.withRoom(() => loadChain(directory));
      } catch (error) {
        throw unreadable(directory, error);
      }
    },
    /** The records of the one-file-per-event layout. */
    *events<E extends EventBody>(
      files: readonly EventFile[],
      range: { from: number; to: number },
    ): Iterable<LogEntry<E>> {
      try {
        yield* readEventFiles(directory, files, range);
      } catch (error) {
        throw unreadable(directory, error);
      }
    },
    /** Reads a segment page by page. `next` is the one after it. */
    open<E extends EventBody>({ name, first, limit }: ChainSegment, next: ChainSegment | null) {
      const descriptor = {};
      let place: ParseStart | null = { offset: 0, first };
      let atHand: Page<E>[] = [];
      let ahead: Promise<Page<E>[] | null> | null = null;
      replays++;

      const load = (from: ParseStart): Promise<Page<E>[]> =>
        openFiles.reading(async () => {
          const fd = openFiles.use(descriptor, () => openSegment(directory, name));
          openFiles.pin(descriptor);
          const chunk = lendChunk();
          const segment: PagedSegment = {
            next: next?.first ?? null,
            async read(memory, offset) {
              const want = Math.min(memory.length, (limit ?? Number.POSITIVE_INFINITY) - offset);
              const { bytesRead } = want > 0 ? await readBytes(fd, memory, 0, want, offset) : { bytesRead: 0 };
              return memory.subarray(0, bytesRead);
            },
          };
          try {
            return await readPages<E>(segment, from, replays > AHEAD ? chunk.subarray(0, LIMITS.pageBytes) : chunk);
          } catch (error) {
            throw unreadable(directory, error);
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
         * Gives the next page to `use` and resolves with what that returns; null after the last one. It does not resolve with the page:
         * that promise is old after the wait for the disk, and would keep the page until a late garbage collection.
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
    },
  });
}

// --- internal ---

const readBytes = promisify(read);

function openSegment(directory: string, name: string): number {
  try {
    const file = openRegular(join(directory, name));
    if (file === null) throw new StoreError("io", `cannot read session ${basename(directory)}: ${name} is not a file`);
    return file.fd;
  } catch (error) {
    throw unreadable(directory, error);
  }
}

function unreadable(directory: string, error: unknown): StoreError {
  return storageError(error, `cannot read session ${basename(directory)}`);
}
