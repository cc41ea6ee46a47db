import { writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { StoreError, storageError } from "../errors.js";
import { LIMITS } from "../limits.js";
import { encodeBatch, encodeLines, withChecksum } from "../record/encode.js";
import { createStamp } from "../record/stamp.js";
import type { Damage, EventBody, ImportedLog, SummaryForm } from "../types.js";
import { type Claim, claimUnseen } from "./claim.js";
import type { Heartbeat } from "./heartbeat.js";
import { EMPTY_LOG, type LogEnd } from "./inspect.js";
import type { LogFiles } from "./log-files.js";
import type { OpenFiles } from "./open-files.js";
import { replayOf } from "./replay-log.js";
import { createSegmentLog, type SegmentLog } from "./segment-log.js";
import { type DraftDirectory, draftSessionDirectory } from "./session-directory.js";
import { formatSummary } from "./summaries.js";
import type { DiskSync } from "./sync.js";

/** A log that this process may write to. */
export interface OpenLog {
  readonly held: Claim;
  readonly segments: SegmentLog;
  /** The time of its last record; empty when there is none. */
  readonly lastTs: string;
  /** The paths that a crash of the machine may still take back. */
  readonly unsynced: string[];
}

/** The ways a session comes into being. Each appears in one step, whole: a crash before it leaves nothing that a list shows. */
export interface SessionMakers<E extends EventBody, S> {
  create(directory: string, summary: S): OpenLog;
  /** The records of a log up to a number, verbatim. */
  copy(source: LogFiles, directory: string, options: { upTo: number; summary: S }): Promise<OpenLog>;
  /** `onReplace`, when given, is called right before the session takes the place of the one that is there. */
  importLog(directory: string, log: ImportedLog<E, S>, onReplace: (() => void) | null): Promise<void>;
}

/** Events written between two turns of the event loop. */
const SLICE = 256;

export function createSessionMakers<E extends EventBody, S extends object>(deps: {
  readonly openFiles: OpenFiles;
  readonly disk: DiskSync;
  readonly heartbeat: Heartbeat;
  readonly form: SummaryForm<E, S> | undefined;
  readonly clock: () => number;
}): SessionMakers<E, S> {
  const { openFiles, disk, heartbeat, form } = deps;

  const start = (draft: DraftDirectory, summary: S): SegmentLog => {
    const text = formatSummary(summary);
    openFiles.withRoom(() => writeFileSync(join(draft.path, "summary.json"), text, { mode: 0o600 }));
    return startLog(draft, 1, EMPTY_LOG, birthOf(form, summary), openFiles);
  };
  const claimDraft = (draft: DraftDirectory, directory: string): Claim =>
    openFiles.withRoom(() => claimUnseen(join(draft.path, "claim"), join(directory, "claim"), heartbeat));
  const unsyncedOf = ({ path, changed }: DraftDirectory): string[] => [join(path, "summary.json"), path, ...changed];

  return {
    create(directory, summary) {
      const draft = draftSessionDirectory(directory);
      try {
        const segments = start(draft, summary);
        const held = claimDraft(draft, directory);
        draft.publish();
        return { held, segments, lastTs: "", unsynced: unsyncedOf(draft) };
      } catch (error) {
        draft.discard();
        throw storageError(error, `cannot create session ${basename(directory)}`);
      }
    },

    async copy(source, directory, { upTo, summary }) {
      const draft = draftSessionDirectory(directory);
      let segments: SegmentLog | null = null;
      try {
        const copied = start(draft, summary);
        segments = copied;
        let lastTs = "";
        let isWhole = true;
        const onDamage = ({ types = {} }: Damage): void => {
          copied.lose(types);
          isWhole = false;
        };
        await replayOf<E>(source)({ from: 0, to: upTo, onDamage }, (batch) => {
          const lines = batch.map((entry) => withChecksum(entry));
          const bytes = Buffer.from(lines.map((entry) => `${entry.line}\n`).join(""));
          if (copied.write(lines, bytes) < lines.length) throw diskFull(directory);
          lastTs = batch[batch.length - 1]?.event.ts ?? lastTs;
        });
        // What is missing has no line in the copy: the next header says what it was.
        if (!isWhole) copied.roll();
        // Windows does not rename a directory with an open file in it.
        copied.letGo();
        const held = claimDraft(draft, directory);
        draft.publish();
        return { held, segments, lastTs, unsynced: unsyncedOf(draft) };
      } catch (error) {
        // While it is open, a file that is gone still takes its room on a disk that may be full.
        segments?.close();
        draft.discard();
        throw storageError(error, `cannot copy session ${basename(source.directory)}`);
      }
    },

    async importLog(directory, { summary, events, onProgress }, onReplace) {
      const draft = draftSessionDirectory(directory, { replaces: onReplace !== null });
      let segments: SegmentLog | null = null;
      try {
        segments = start(draft, summary);
        let time = deps.clock();
        const stamp = createStamp(() => time);
        for (const [index, { event, at }] of events.entries()) {
          time = at ?? time;
          const batch = encodeBatch([event], segments.writtenSeq, stamp);
          if (segments.write(batch, encodeLines(batch)) < 1) throw diskFull(directory);
          if (index % SLICE !== SLICE - 1) continue;
          onProgress?.(index + 1);
          await nextTurn();
        }
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

/** The end of a log, to be continued by a writer of this fence. */
export function startLog(
  place: { readonly path: string },
  fence: number,
  end: LogEnd,
  birth: object | undefined,
  openFiles: OpenFiles,
): SegmentLog {
  return createSegmentLog({
    directory: () => place.path,
    // A directory that lost its claim files in a crash starts counting anew; its segments must not.
    fence: Math.max(fence, end.chain.fence + 1),
    end,
    birth,
    openFiles,
  });
}

/** What the headers of a session's segments say of its birth; nothing when that would be too long for a header. */
export function birthOf<S extends object>(
  form: SummaryForm<never, S> | undefined,
  summary: S | null,
): object | undefined {
  const birth = summary === null ? undefined : form?.birth(summary);
  return birth !== undefined && Buffer.byteLength(JSON.stringify(birth)) <= LIMITS.birthBytes ? birth : undefined;
}

// --- internal ---

function diskFull(directory: string): StoreError {
  return new StoreError("storage_full", `session ${basename(directory)}: short write, the disk is full`);
}
