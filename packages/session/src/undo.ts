/** Undo and redo of turns: the conversation by a record, the files by the snapshots of the turns it names. */
import type { AgentEvent, FileOutcome } from "@chimera/acp-schema/events";
import type { RestoreReport, SessionSnapshots } from "@chimera/snapshot-store";
import type { History, TurnState } from "./history.js";

export interface RewindOptions {
  /** How many turns. @defaultValue 1 */
  readonly steps?: number;
  /** Overwrite files that somebody else has changed since. */
  readonly force?: boolean;
  /** Tell what would happen; change nothing. */
  readonly dryRun?: boolean;
  readonly origin?: string;
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
  readonly history: () => History;
  readonly snapshots: SessionSnapshots | null;
  readonly record: (event: AgentEvent, origin?: string) => void;
}): Rewind {
  return async (direction, options = {}) => {
    const history = deps.history();
    const available = direction === "undo" ? history.undoable() : history.redoable();
    const steps = Math.min(Math.max(1, Math.trunc(options.steps ?? 1)), available.length);
    const remaining = available.length - steps;
    const taken = direction === "undo" ? available.slice(-steps) : available.slice(0, steps);
    if (taken.length === 0) return report(direction, { turns: 0, files: [], conflicts: [], remaining: 0 }, []);
    const restored = deps.snapshots && (await restoreFiles(deps.snapshots, direction, taken, options));
    const files = restored?.files ?? [];
    const rewound = {
      turns: steps,
      files: files.map(({ path, outcome }) => ({ path, outcome })),
      conflicts: [...(restored?.conflicts ?? [])],
      remaining,
    };
    if (!options.dryRun) deps.record({ type: direction, metadata: rewound }, options.origin);
    return report(direction, rewound, files);
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
  taken: readonly TurnState[],
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

type Files = RestoreReport["files"];

function report(direction: Direction, outcome: Omit<RewindReport, "message">, files: Files): RewindReport {
  return { ...outcome, message: describe(direction, outcome, files) };
}

function describe(direction: Direction, outcome: Omit<RewindReport, "message">, all: Files): string {
  if (outcome.turns === 0) return `/${direction}: nothing to ${direction}`;
  const changed = all.filter((file) => ["restored", "deleted", "created"].includes(file.outcome)).length;
  const files = changed > 0 ? `, ${count(changed, "file")} restored` : "";
  const skipped = all
    .filter((file) => file.outcome === "skipped")
    .map(({ path, reason = "not kept" }) => `${path} (${reason.replaceAll("_", " ")})`);
  const left = skipped.length > 0 ? `; left alone because they were not kept: ${skipped.join(", ")}` : "";
  const kept = outcome.conflicts.length > 0 ? `; kept because they changed since: ${outcome.conflicts.join(", ")}` : "";
  return `/${direction}: ${VERBS[direction]} ${count(outcome.turns, "turn")}${files} (${outcome.remaining} remaining)${kept}${left}`;
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
