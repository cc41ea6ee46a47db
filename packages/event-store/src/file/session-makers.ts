import { accessSync, constants, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Copy, Import } from "../backend/backend.js";
import { claimUnseen } from "../claim/claim.js";
import type { Heartbeat } from "../claim/heartbeat.js";
import { LIMITS } from "../limits.js";
import { orElse } from "../or-else.js";
import type { EventBody, SummaryForm } from "../types.js";
import type { DiskSync, OpenFiles } from "./disk.js";
import type { OpenLog } from "./held-log.js";
import { draftSessionDirectory } from "./index/session-directory.js";
import { formatSummary } from "./index/summaries.js";
import { EMPTY_LOG } from "./segment/log-end.js";
import type { LogFiles } from "./segment/log-files.js";
import { createSegmentLog } from "./segment/segment-log.js";
import type { Making } from "./session-copies.js";

/** The ways to make a session. Each session appears whole and in one step: a crash before that leaves nothing that a list shows. */
export function createSessionMakers<E extends EventBody, S extends object>(deps: {
  readonly openFiles: OpenFiles;
  readonly disk: DiskSync;
  readonly heartbeat: Heartbeat;
  readonly form: SummaryForm<E, S> | undefined;
}) {
  const { openFiles, disk, heartbeat, form } = deps;
  const pending = createPending();

  const making: Making<S> = {
    disk,
    start(draft, directory, summary) {
      const birth = birthOf(form, summary);
      const text = formatSummary(summary);
      // Claimed first: if this process is killed, others can see that the maker of the draft is dead.
      const [unseen, path] = [join(draft.path, "claim"), join(directory, "claim")];
      const claim = openFiles.withRoom(() => claimUnseen(unseen, path, heartbeat));
      openFiles.withRoom(() => writeFileSync(join(draft.path, "summary.json"), text, { mode: 0o600 }));
      return { claim, segments: createSegmentLog({ place: draft, fence: 1, end: EMPTY_LOG, birth, openFiles }), birth };
    },
    publish(draft, directory, birth) {
      draft.publish();
      const above = pending.above(directory);
      for (const path of draft.changed) if (path !== dirname(directory)) above.add(path);
      return [...new Set([...making.unsyncedOf(draft, birth), ...above])];
    },
    unsyncedOf: ({ path, changed }, birth) => [
      ...(birth === undefined ? [join(path, "summary.json")] : []),
      path,
      ...changed,
    ],
  };

  return {
    /** The paths to sync for an existing session without records: its maker may have died before its first sync. */
    unsyncedOf: (directory: string): string[] => [directory, dirname(directory), ...pending.above(directory)],
    /** Marks paths as synced. */
    onSynced: pending.synced,
    create(directory: string, summary: S): OpenLog {
      const draft = draftSessionDirectory(directory);
      try {
        const { claim, segments, birth } = making.start(draft, directory, summary);
        return { claim, segments, lastSeq: 0, lastTs: "", unsynced: making.publish(draft, directory, birth) };
      } catch (error) {
        draft.discard();
        throw error;
      }
    },
    async copy(source: LogFiles, directory: string, copied: Copy<E, S>) {
      const { copySession } = await import("./session-copies.js");
      return copySession(making, source, directory, copied);
    },
    async importLog(directory: string, log: Import<E, S>) {
      const { importSession } = await import("./session-copies.js");
      return importSession(making, directory, log);
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

/** The directories above all sessions that no sync has covered yet: another part of the process may have made them. */
function createPending() {
  let pending: Set<string> | null = null;
  return {
    above(directory: string): Set<string> {
      const root = dirname(dirname(directory));
      pending ??= new Set([root, dirname(root)].filter(canBeOpened));
      return pending;
    },
    synced(paths: readonly string[]): void {
      for (const path of paths) pending?.delete(path);
    },
  };
}

/** A directory that cannot be opened cannot be synced. */
function canBeOpened(path: string): boolean {
  return orElse(() => accessSync(path, constants.R_OK) ?? true, false);
}
