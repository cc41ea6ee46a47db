/** Makes sessions with records: copies and imports. Loaded with the first of them, because a start does not need it. */
import { dirname, join } from "node:path";
import type { Copy, Import } from "../backend/backend.js";
import { lastOf, withChecksum } from "../backend/line.js";
import { type Claim, withdrawUnseen } from "../claim/claim.js";
import { StoreError } from "../errors.js";
import type { Entry, EventBody } from "../types.js";
import type { DiskSync } from "./disk.js";
import type { OpenLog } from "./held-log.js";
import { type DraftDirectory, draftSessionDirectory } from "./index/session-directory.js";
import type { LogFiles } from "./segment/log-files.js";
import { replayOf } from "./segment/replay-log.js";
import type { SegmentLog } from "./segment/segment-log.js";

/** The steps in which every session is made. */
export interface Making<S> {
  readonly disk: DiskSync;
  /** Begins a log in a draft, which this process claims. */
  start(
    draft: DraftDirectory,
    directory: string,
    summary: S,
  ): { readonly claim: Claim; readonly segments: SegmentLog; readonly birth: object | undefined };
  /** Gives the draft its name. Returns the paths that a crash of the machine may still undo. */
  publish(draft: DraftDirectory, directory: string, birth: object | undefined): string[];
  /**
   * The same paths for a draft. The summary is among them only when the headers hold no birth; otherwise the next reader makes it again
   * from the log.
   */
  unsyncedOf(draft: DraftDirectory, birth?: object): string[];
}

/** Makes a session of another log's records up to a number, verbatim, followed by the added ones. */
export async function copySession<E extends EventBody, S extends object>(
  making: Making<S>,
  source: LogFiles,
  directory: string,
  { upTo, summary, added }: Copy<E, S>,
): Promise<OpenLog> {
  const draft = draftSessionDirectory(directory);
  let begun: ReturnType<Making<S>["start"]> | null = null;
  try {
    begun = making.start(draft, directory, summary);
    const { claim, segments, birth } = begun;
    let [lastSeq, lastTs] = [0, ""];
    await replayOf<E>(source)({ from: 0, to: upTo }, (batch) => {
      lastSeq = lastOf(batch[batch.length - 1]!);
      // Lost records have no line in the copy; readers see the gap in the numbers as lost.
      const lines = batch.flatMap((entry) => ("line" in entry ? withChecksum(entry) : []));
      writeAll(segments, lines);
      lastTs = lines.at(-1)?.event.ts ?? lastTs;
    });
    const own = added(lastSeq, lastTs);
    writeAll(segments, own);
    lastSeq += own.length;
    lastTs = own.at(-1)?.event.ts ?? lastTs;
    // Windows does not rename a directory with an open file in it.
    segments.letGo();
    return { claim, segments, lastSeq, lastTs, unsynced: making.publish(draft, directory, birth) };
  } catch (error) {
    // Close first: while it is open, a removed file still takes its space on a disk that may be full.
    begun?.segments.close();
    draft.discard();
    throw error;
  }
}

export async function importSession<E extends EventBody, S extends object>(
  making: Making<S>,
  directory: string,
  { summary, batches, onReplace }: Import<E, S>,
): Promise<void> {
  const draft = draftSessionDirectory(directory, { replaces: onReplace !== null });
  let segments: SegmentLog | null = null;
  try {
    segments = making.start(draft, directory, summary).segments;
    for await (const batch of batches) writeAll(segments, batch);
    for (const file of segments.syncPoint().files) await making.disk.data(file.fd);
    for (const path of making.unsyncedOf(draft)) await making.disk.path(path);
    segments.close();
    withdrawUnseen(join(draft.path, "claim"));
    onReplace?.();
    await (onReplace === null ? draft.publish() : draft.replace());
    await making.disk.path(dirname(directory));
  } catch (error) {
    segments?.close();
    draft.discard();
    throw error;
  }
}

// --- internal ---

function writeAll(segments: SegmentLog, lines: readonly Entry<EventBody>[]): void {
  if (segments.write(lines) < lines.length) throw new StoreError("storage_full", "short write, the disk is full");
}
