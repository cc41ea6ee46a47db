/** Undo and redo of turns: the conversation by a record, the files by the snapshots of the turns it names. */
import type { AgentEvent, FileOutcome } from "@chimera/acp-schema/events";
import type { SessionSnapshots } from "@chimera/snapshot-store";
import type { History } from "./history.js";

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
  readonly history: History;
  readonly snapshots: SessionSnapshots | null;
  readonly record: (event: AgentEvent, origin?: string) => void;
}): Rewind {
  return async (direction, options = {}) => {
    const available = direction === "undo" ? deps.history.undoable() : deps.history.redoable();
    const steps = Math.min(Math.max(1, Math.trunc(options.steps ?? 1)), available.length);
    const remaining = available.length - steps;
    if (steps === 0) return report(direction, { turns: 0, files: [], conflicts: [], remaining: 0 });
    const restored = await deps.snapshots?.[direction]({
      steps,
      force: options.force ?? false,
      dryRun: options.dryRun ?? false,
    });
    const rewound = {
      turns: steps,
      files: (restored?.files ?? []).map(({ path, outcome }) => ({ path, outcome })),
      conflicts: [...(restored?.conflicts ?? [])],
      remaining,
    };
    if (!options.dryRun) deps.record({ type: direction, metadata: rewound }, options.origin);
    return report(direction, rewound);
  };
}

// --- internal ---

const VERBS = { undo: "rewound", redo: "replayed" } as const;

function report(direction: Direction, outcome: Omit<RewindReport, "message">): RewindReport {
  return { ...outcome, message: describe(direction, outcome) };
}

function describe(direction: Direction, outcome: Omit<RewindReport, "message">): string {
  if (outcome.turns === 0) return `/${direction}: nothing to ${direction}`;
  const changed = outcome.files.filter((file) => ["restored", "deleted", "created"].includes(file.outcome)).length;
  const files = changed > 0 ? `, ${count(changed, "file")} restored` : "";
  const kept = outcome.conflicts.length > 0 ? `; kept because they changed since: ${outcome.conflicts.join(", ")}` : "";
  return `/${direction}: ${VERBS[direction]} ${count(outcome.turns, "turn")}${files} (${outcome.remaining} remaining)${kept}`;
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
