import { join } from "node:path";
import { StoreError, storageError } from "../../errors.js";
import { LIMITS } from "../../limits.js";
import { orElse } from "../../or-else.js";
import type { SummaryForm } from "../../types.js";
import { type DiskSync, listDrafts, type OpenFiles, replaceFile } from "../disk.js";
import { readRegular } from "../regular-file.js";

/** The `summary.json` of sessions, by their directories. */
export function createSummaries<S extends object>(openFiles: OpenFiles, disk: DiskSync) {
  /** As `createLanes` of `@chimera/acp-schema/promises`: this package depends on none. */
  const writes = new Map<string, Promise<void>>();

  return {
    /** The stored summary; null when there is none, it is not a JSON object, or it is too large. */
    read(directory: string) {
      try {
        return parseSummary(openFiles.withRoom(() => readRegular(pathOf(directory), LIMITS.summaryBytes)) ?? "");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
        throw storageError(error, `cannot read ${pathOf(directory)}`);
      }
    },
    /** Replaces the summary in one step, after the replacements that are under way, so that the last call wins. */
    async write(directory: string, summary: S, sync: boolean) {
      const text = formatSummary(summary);
      const write = (writes.get(directory) ?? Promise.resolve()).then(() =>
        openFiles.replacing(() =>
          openFiles.withRoomAsync(() => replaceFile(pathOf(directory), text, sync ? disk : null)),
        ),
      );
      const settled = write.catch(() => {});
      writes.set(directory, settled);
      void settled.then(() => {
        if (writes.get(directory) === settled) writes.delete(directory);
      });
      await write.catch((error: unknown) => {
        throw storageError(error, `cannot write ${pathOf(directory)}`);
      });
    },
    /** Resolves when no replacement is under way: for one session, or for all. */
    settled: async (directory?: string) =>
      directory === undefined ? Promise.all(writes.values()) : writes.get(directory),
    /** Temporary files left by a killed process. Only the holder of a session writes them: call this while holding its claim. */
    drafts: (directory: string) => (writes.has(directory) ? [] : listDrafts(pathOf(directory))),
  };
}

/** Turns a stored object into the summary that the store's program expects; without a form it is used unchanged. */
export function shapedBy<S extends object>(form: Pick<SummaryForm<never, S>, "read"> | undefined) {
  return (id: string, stored: object | null): S | null =>
    stored === null ? null : form === undefined ? (stored as S) : form.read(id, stored);
}

export function formatSummary(summary: object): string {
  let text: string;
  try {
    text = `${JSON.stringify(summary, null, 2)}\n`;
  } catch (cause) {
    throw new StoreError("invalid_event", "the summary cannot be written as JSON", { cause });
  }
  if (Buffer.byteLength(text) <= LIMITS.summaryBytes) return text;
  throw new StoreError("too_large", `a summary has at most ${LIMITS.summaryBytes} bytes`);
}

/** The summary a text holds, or null when it is not a JSON object. */
export function parseSummary(text: string): object | null {
  return orElse(() => asObject(JSON.parse(text)), null);
}

export function asObject(value: unknown): object | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
}

// --- internal ---

function pathOf(directory: string): string {
  return join(directory, "summary.json");
}
