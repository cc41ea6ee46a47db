/** Undo and redo of turns: a record changes the conversation, and the snapshots of these turns restore the files. */
import type { Conversation } from "@chimera/acp-schema/conversation";
import type { AgentEvent, FileOutcome } from "@chimera/acp-schema/events";
import type { Direction, Restore, SessionSnapshots } from "@chimera/snapshot-store";

export interface RewindOptions {
  /** How many turns. @defaultValue 1 */
  readonly steps?: number | undefined;
  /** Overwrite files that somebody else has changed since. */
  readonly force?: boolean | undefined;
  /** Report what would happen, and change nothing. */
  readonly dryRun?: boolean | undefined;
  readonly origin?: string | undefined;
}

export interface RewindReport {
  readonly turns: number;
  readonly files: readonly FileOutcome[];
  readonly conflicts: readonly string[];
  readonly remaining: number;
  /** One line for a person: `/undo: rewound 1 turn, 2 files restored (0 remaining)`. */
  readonly message: string;
}

export type Rewind = (direction: Direction, options?: RewindOptions) => Promise<RewindReport>;

/** Makes the function that undoes and redoes turns. The session's queue runs its calls one after the other. */
export function createRewind(deps: {
  readonly conversation: () => Conversation;
  readonly snapshots: SessionSnapshots | null;
  readonly lastSeq: () => number;
  /** Appends a record. Resolves when it is durable. */
  readonly record: (event: AgentEvent, origin?: string) => Promise<void>;
  /** Whether the log holds a record of this type after the given number. */
  readonly recorded: (type: Direction, after: number) => Promise<boolean>;
}): Rewind {
  /** Writes the record of a restore. If that fails, takes the restored files back. */
  async function write(
    event: Extract<AgentEvent, { type: Direction }>,
    after: number,
    files: Restore,
    origin?: string,
  ) {
    try {
      await deps.record(event, origin);
    } catch (error) {
      // A record that was written but not synced counts. The files and the restore's journal then stay, and the next load decides by the log.
      const isRecorded = await deps.recorded(event.type, after).catch(() => true);
      if (!isRecorded) await files.takeBack();
      throw error;
    }
    // A journal that cannot be removed does no harm: the next load finds the record.
    await files.keep().catch(() => {});
  }

  return async (direction, options = {}) => {
    const available = () => deps.conversation()[direction === "undo" ? "undoable" : "redoable"]();
    const there = available();
    const steps = Math.min(Math.max(1, Math.trunc(options.steps ?? 1)), there.length);
    const remaining = there.length - steps;
    const taken = direction === "undo" ? there.slice(-steps) : there.slice(0, steps);
    if (taken.length === 0) return report(direction, NOTHING);
    const { force = false, dryRun = false, origin } = options;
    const after = deps.lastSeq();
    const { turns, filesOf } = deps.conversation();
    const edited = (turn: number) => turns[turn]?.edited ?? [];
    const asked = { after, force, dryRun, edited };
    const restored = (await deps.snapshots?.restore(filesOf(taken, direction), direction, asked)) ?? NO_FILES;
    // The conversation was cleared while files were restored, so these turns can no longer be undone.
    if (!available().some(({ number }) => number === taken[0]!.number)) {
      await restored.takeBack();
      return report(direction, NOTHING);
    }
    const rewound = {
      turns: steps,
      files: restored.files.map((file) => ({ ...file })),
      conflicts: [...restored.conflicts],
      remaining,
    };
    if (!dryRun) await write({ type: direction, metadata: rewound }, after, restored, origin);
    return report(direction, rewound);
  };
}

// --- internal ---

const NOTHING = { turns: 0, files: [], conflicts: [], remaining: 0 };
const NO_FILES: Restore = { files: [], conflicts: [], keep: async () => {}, takeBack: async () => {} };

const VERBS = { undo: "rewound", redo: "replayed" } as const;

function report(direction: Direction, outcome: Omit<RewindReport, "message">): RewindReport {
  return { ...outcome, message: describe(direction, outcome) };
}

function describe(direction: Direction, { turns, files, remaining }: Omit<RewindReport, "message">): string {
  if (turns === 0) return `/${direction}: nothing to ${direction}`;
  const changed = files.filter((file) => ["restored", "deleted", "created"].includes(file.outcome)).length;
  const restored = changed > 0 ? `, ${count(changed, "file")} restored` : "";
  const kept = among(files, "conflict", "kept because they changed since", "changed_since");
  const left = among(files, "skipped", "left alone because they were not kept", "not_kept");
  return `/${direction}: ${VERBS[direction]} ${count(turns, "turn")}${restored} (${remaining} remaining)${kept}${left}`;
}

/** The files with one outcome, each with its reason unless the sentence says that already. */
function among(files: readonly FileOutcome[], outcome: FileOutcome["outcome"], why: string, said?: string): string {
  const named = files
    .filter((file) => file.outcome === outcome)
    .map(({ path, reason }) => (reason && reason !== said ? `${path} (${reason.replaceAll("_", " ")})` : path));
  return named.length > 0 ? `; ${why}: ${named.join(", ")}` : "";
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
