/** The entries of a log: records, older ones in the names of today, and lost ones that cannot be read back. Loads no schema. */
import type { SessionEvent } from "./record.js";

/** Records that cannot be read back. It is not a record itself: it has no id and no time. */
export interface Lost {
  readonly type: "lost";
  /** The number of the first record of the run. */
  readonly seq: number;
  readonly last: number;
  readonly reason: "damaged" | "missing" | "truncated";
}

/** True for a lost run among records or among a log's entries; a record that calls itself `lost` has an id. */
export function isLost(entry: { readonly type: string } | Lost): entry is Lost {
  return entry.type === "lost" && "last" in entry && !("id" in entry);
}

/** How many records were lost. */
export function lostCount({ seq, last }: Lost): number {
  return last - seq + 1;
}

/** The one sentence that people read. */
export function describeLost({ seq, last }: Lost): string {
  return seq === last ? `record ${seq} cannot be read` : `records ${seq} to ${last} cannot be read`;
}

/** What stands in the place of the records wherever a log is shown to a program: `Loss` of `../http`. */
export function lostNotice(lost: Lost) {
  const metadata = { level: "error", text: describeLost(lost) } as const;
  return { type: "notice", turn: null, metadata, missing: { first: lost.seq, last: lost.last } } as const;
}

/** The last record of a turn is exactly one of these. */
export function endsTurn(type: string): boolean {
  return type === "agent_result" || type === "cancelled";
}

/**
 * Upgrades records that programs before this one wrote: folds read them so, and raw replay shows them as they are. Returns a function
 * that gives a record back as it is, or with the names of today if it is an older one; null for an older record that has no counterpart,
 * and for one that no program writes: anybody may put a line into a log. One function per log, because older records belong to the
 * turn of the last prompt before them.
 */
export function createUpgrade(): <R extends SessionEvent>(record: R) => R | null {
  let turns = 0;
  return (record) => {
    if (record.turn !== undefined) return isSound(record) ? record : null;
    const translate = Object.hasOwn(OLDER, record.type) ? OLDER[record.type] : undefined;
    if (!translate) return null;
    if (record.type === "user_message") turns++;
    const turn = Math.max(0, turns - 1);
    return { ...record, turn, metadata: translate({ ...(record.metadata as Fields | undefined) }, turn) };
  };
}

/** Gives older metadata of a type the names of today; a type that needs no change is left as it is. */
export function upgradeMetadata(type: string, metadata: Fields, turn: number): object {
  return Object.hasOwn(OLDER, type) ? OLDER[type]!(metadata, turn) : metadata;
}

// --- internal ---

type Fields = Readonly<Record<string, unknown>>;

const OLDER: Readonly<Record<string, (old: Fields, turn: number) => object>> = {
  user_message: (old, turn) => ("text" in old ? old : { prompt: `msg-${turn}`, text: textOf(old["content"]) }),
  text_delta: (old) => ("text" in old ? old : { text: textOf(old["content"]) }),
  agent_result: (old) => ({
    output: textOf(old["output"]),
    // A turn without a step was a slash command; this one was not.
    steps: countOf(old["steps"]) || 1,
    tool_calls_total: countOf(old["tool_calls_total"]),
    cost: typeof old["cost"] === "number" ? old["cost"] : 0,
    success: old["success"] === true,
    error: typeof old["error"] === "string" ? old["error"] : null,
  }),
};

/** Its turn is a number of a turn, its metadata is there, and a text is one. What else it says is read with care where it is used. */
function isSound({ type, turn, metadata }: SessionEvent): boolean {
  if (turn !== null && !(Number.isInteger(turn) && turn >= 0)) return false;
  if (typeof metadata !== "object" || metadata === null) return false;
  return (type !== "text_delta" && type !== "thought_delta") || typeof metadata.text === "string";
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function countOf(value: unknown): number {
  return typeof value === "number" && Number.isInteger(value) && value > 0 ? value : 0;
}
