import { accessSync, constants, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Copy, Import } from "../backend/backend.js";
import { lastOf, withChecksum } from "../backend/line.js";
import { type Claim, claimUnseen } from "../claim/claim.js";
import type { Heartbeat } from "../claim/heartbeat.js";
import { StoreError } from "../errors.js";
import { LIMITS } from "../limits.js";
import type { Entry, EventBody, SummaryForm } from "../types.js";
import type { DiskSync, OpenFiles } from "./disk.js";
import { type DraftDirectory, draftSessionDirectory } from "./index/session-directory.js";
import { formatSummary } from "./index/summaries.js";
import { EMPTY_LOG } from "./segment/log-end.js";
import type { LogFiles } from "./segment/log-files.js";
import { replayOf } from "./segment/replay-log.js";
import { createSegmentLog, type SegmentLog } from "./segment/segment-log.js";

/** The ways to make a session. Each session appears whole and in one step: a crash before that leaves nothing that a list shows. */
export function createSessionMakers<E extends EventBody, S extends object>(deps: {
  readonly openFiles: OpenFiles;
  readonly disk: DiskSync;
  readonly heartbeat: Heartbeat;
  readonly form: SummaryForm<E, S> | undefined;
}) {
  const { openFiles, disk, heartbeat, form } = deps;
  /** The directories above all sessions that no sync has covered yet. */
  let unsyncedAbove: Set<string> | null = null;
  const pendingAbove = (directory: string): Set<string> => {
    unsyncedAbove ??= new Set(above(directory));
    return unsyncedAbove;
  };

  const start = (draft: DraftDirectory, summary: S, birth = birthOf(form, summary)): SegmentLog => {
    const text = formatSummary(summary);
    openFiles.withRoom(() => writeFileSync(join(draft.path, "summary.json"), text, { mode: 0o600 }));
    return createSegmentLog({ place: draft, fence: 1, end: EMPTY_LOG, birth, openFiles });
  };
  /** Claims the draft for this process and gives it its name. */
  const publish = (
    draft: DraftDirectory,
    directory: string,
    birth: object | undefined,
  ): { claim: Claim; unsynced: string[] } => {
    const claim = openFiles.withRoom(() => claimUnseen(join(draft.path, "claim"), join(directory, "claim"), heartbeat));
    draft.publish();
    const pending = pendingAbove(directory);
    for (const path of draft.changed) if (path !== dirname(directory)) pending.add(path);
    return { claim, unsynced: [...new Set([...unsyncedOf(draft, birth), ...pending])] };
  };

  return {
    /** The paths to sync for an existing session without records: its maker may have died before its first sync. */
    unsyncedOf: (directory: string): string[] => [directory, dirname(directory), ...pendingAbove(directory)],
    /** Marks paths as synced. */
    onSynced(paths: readonly string[]) {
      for (const path of paths) unsyncedAbove?.delete(path);
    },
    create(directory: string, summary: S) {
      const draft = draftSessionDirectory(directory);
      try {
        const birth = birthOf(form, summary);
        const segments = start(draft, summary, birth);
        return { segments, lastSeq: 0, lastTs: "", ...publish(draft, directory, birth) };
      } catch (error) {
        draft.discard();
        throw error;
      }
    },

    /** Makes a session of another log's records up to a number, verbatim, followed by the added ones. */
    async copy(source: LogFiles, directory: string, { upTo, summary, added }: Copy<E, S>) {
      const draft = draftSessionDirectory(directory);
      let segments: SegmentLog | null = null;
      try {
        const birth = birthOf(form, summary);
        const copied = start(draft, summary, birth);
        segments = copied;
        let [lastSeq, lastTs] = [0, ""];
        await replayOf<E>(source)({ from: 0, to: upTo }, (batch) => {
          lastSeq = lastOf(batch[batch.length - 1]!);
          // Lost records have no line in the copy; readers see the gap in the numbers as lost.
          const lines = batch.flatMap((entry) => ("line" in entry ? withChecksum(entry) : []));
          writeAll(copied, lines);
          lastTs = lines.at(-1)?.event.ts ?? lastTs;
        });
        const own = added(lastSeq, lastTs);
        writeAll(copied, own);
        lastSeq += own.length;
        lastTs = own.at(-1)?.event.ts ?? lastTs;
        // Windows does not rename a directory with an open file in it.
        copied.letGo();
        return { segments, lastSeq, lastTs, ...publish(draft, directory, birth) };
      } catch (error) {
        // Close first: while it is open, a removed file still takes its space on a disk that may be full.
        segments?.close();
        draft.discard();
        throw error;
      }
    },

    async importLog(directory: string, { summary, batches, onReplace }: Import<E, S>) {
      const draft = draftSessionDirectory(directory, { replaces: onReplace !== null });
      let segments: SegmentLog | null = null;
      try {
        segments = start(draft, summary);
        for await (const batch of batches) writeAll(segments, batch);
        for (const file of segments.syncPoint().files) await disk.data(file.fd);
        for (const path of unsyncedOf(draft)) await disk.path(path);
        segments.close();
        onReplace?.();
        await (onReplace === null ? draft.publish() : draft.replace());
        await disk.path(dirname(directory));
      } catch (error) {
        segments?.close();
        draft.discard();
        throw error;
      }
    },
  };
}

/** The birth for the headers of a session's segments; undefined when it would be too long for a header. */
export function birthOf<S extends object>(
  form: SummaryForm<never, S> | undefined,
  summary: S | null,
): object | undefined {
  const birth = summary === null ? undefined : form?.birth(summary);
  return birth !== undefined && Buffer.byteLength(JSON.stringify(birth)) <= LIMITS.birthBytes ? birth : undefined;
}

// --- internal ---

function writeAll(segments: SegmentLog, lines: readonly Entry<EventBody>[]): void {
  if (segments.write(lines) < lines.length) throw new StoreError("storage_full", "short write, the disk is full");
}

/**
 * The paths that a crash of the machine may still undo. The summary is among them only when the headers hold no birth; otherwise the
 * next reader makes it again from the log.
 */
function unsyncedOf({ path, changed }: DraftDirectory, birth?: object): string[] {
  return [...(birth === undefined ? [join(path, "summary.json")] : []), path, ...changed];
}

/** The directories above a session's, since another part of the process may have made them without a sync. */
function above(directory: string): string[] {
  const root = dirname(dirname(directory));
  return [root, dirname(root)].filter((path) => {
    try {
      accessSync(path, constants.R_OK);
      return true;
    } catch {
      // A directory that cannot be opened cannot be synced.
      return false;
    }
  });
}
