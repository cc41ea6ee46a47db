/** Undo and redo of turns: the conversation by a record, the files by the snapshots of the turns it names. */
import type { Conversation, TurnView } from "@chimera/acp-schema/conversation";
import type { AgentEvent, FileOutcome } from "@chimera/acp-schema/events";
import type { RestoreReport, SessionSnapshots } from "@chimera/snapshot-store";

export interface RewindOptions {
  /** How many turns. @defaultValue 1 */
  readonly steps?: number | undefined;
  /** Overwrite files that somebody else has changed since. */
  readonly force?: boolean | undefined;
  /** Tell what would happen; change nothing. */
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

export type Direction = "undo" | "redo";

export type Rewind = (direction: Direction, options?: RewindOptions) => Promise<RewindReport>;

export function createRewind(deps: {
  readonly conversation: () => Conversation;
  readonly snapshots: SessionSnapshots | null;
  /** Resolves when the record is durable. */
  readonly record: (event: AgentEvent, origin?: string) => Promise<void>;
}): Rewind {
  return async (direction, options = {}) => {
    const conversation = deps.conversation();
    const available = direction === "undo" ? conversation.undoable() : conversation.redoable();
    const steps = Math.min(Math.max(1, Math.trunc(options.steps ?? 1)), available.length);
    const remaining = available.length - steps;
    const taken = direction === "undo" ? available.slice(-steps) : available.slice(0, steps);
    if (taken.length === 0) return report(direction, { turns: 0, files: [], conflicts: [], remaining: 0 });
    const restored = deps.snapshots && (await restoreFiles(deps.snapshots, direction, taken, options));
    const rewound = {
      turns: steps,
      files: (restored?.files ?? []).map((file) => ({ ...file })),
      conflicts: [...(restored?.conflicts ?? [])],
      remaining,
    };
    if (!options.dryRun) await deps.record({ type: direction, metadata: rewound }, options.origin);
    return report(direction, rewound);
  };
}

// --- internal ---

/**
 * The file steps of the given turns. Not every turn that can be undone has one (a fork has none of its parent's), and turns
 * that took no model step may have one, so the steps are counted by turn number.
 */
async function restoreFiles(
  snapshots: SessionSnapshots,
  direction: Direction,
  taken: readonly TurnView[],
  { force = false, dryRun = false }: RewindOptions,
): Promise<RestoreReport | null> {
  const depth = (await snapshots.depth())[direction];
  if (depth === 0) return null;
  const { turnNumbers } = await snapshots[direction]({ steps: depth, dryRun: true });
  const [first, last] = [taken[0]?.number ?? 0, taken.at(-1)?.number ?? 0];
  const steps = turnNumbers.filter((turn) => (direction === "undo" ? turn >= first : turn <= last)).length;
  return steps === 0 ? null : snapshots[direction]({ steps, force, dryRun });
}

const VERBS = { undo: "rewound", redo: "replayed" } as const;

function report(direction: Direction, outcome: Omit<RewindReport, "message">): RewindReport {
  return { ...outcome, message: describe(direction, outcome) };
}

function describe(direction: Direction, { turns, files, remaining }: Omit<RewindReport, "message">): string {
  if (turns === 0) return `/${direction}: nothing to ${direction}`;
  const changed = files.filter((file) => ["restored", "deleted", "created"].includes(file.outcome)).length;
  const restored = changed > 0 ? `, ${count(changed, "file")} restored` : "";
  const kept = among(files, "conflict", "kept because they changed since", "changed_since");
  const left = among(files, "skipped", "left alone because they were not kept");
  return `/${direction}: ${VERBS[direction]} ${count(turns, "turn")}${restored} (${remaining} remaining)${kept}${left}`;
}

/** The files of one outcome, each with its reason unless that is what the sentence says. */
function among(files: readonly FileOutcome[], outcome: FileOutcome["outcome"], why: string, said?: string): string {
  const named = files
    .filter((file) => file.outcome === outcome)
    .map(({ path, reason }) => (reason && reason !== said ? `${path} (${reason.replaceAll("_", " ")})` : path));
  return named.length > 0 ? `; ${why}: ${named.join(", ")}` : "";
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
