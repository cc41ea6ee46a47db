/** The entries of a log: records, upgraded if they are older, and runs of lost records. Loads no schema. */
import type { SessionEvent } from "./record.js";

/** A run of records that cannot be read. It is not a record itself and has no id and no time. */
export interface Lost {
  readonly type: "lost";
  /** The number of the first record of the run. */
  readonly seq: number;
  readonly last: number;
  readonly reason: "damaged" | "missing" | "truncated";
}

/**
 * Whether an entry is a run of lost records. A record with the type `lost` has an id, so it is not one.
 *
 * @example
 * for (const entry of entries) if (isLost(entry)) console.warn(describeLost(entry));
 */
export function isLost(entry: { readonly type: string } | Lost): entry is Lost {
  return entry.type === "lost" && "last" in entry && !("id" in entry);
}

/**
 * How many records a run has lost.
 *
 * @example
 * lostCount({ type: "lost", seq: 7, last: 9, reason: "damaged" }); // 3
 */
export function lostCount({ seq, last }: Lost): number {
  return last - seq + 1;
}

/**
 * A sentence about lost records, for people.
 *
 * @example
 * console.warn(describeLost(entry));
 */
export function describeLost({ seq, last }: Lost): string {
  return seq === last ? `record ${seq} cannot be read` : `records ${seq} to ${last} cannot be read`;
}

/**
 * The notice that replaces lost records wherever a program reads a log: `Loss` of `../http`.
 *
 * @example
 * const shown = isLost(entry) ? lostNotice(entry) : entry;
 */
export function lostNotice(lost: Lost) {
  const metadata = { level: "error", text: describeLost(lost) } as const;
  return { type: "notice", turn: null, metadata, missing: { first: lost.seq, last: lost.last } } as const;
}

/**
 * Whether a record type ends a turn. The last record of each turn has such a type, and no other record of it does.
 *
 * @example
 * endsTurn("agent_result"); // true
 * endsTurn("turn_end"); // false
 */
export function endsTurn(type: string): boolean {
  return type === "agent_result" || type === "cancelled";
}

/**
 * Makes a function that takes the records of a log in order and says what each one ends: the turn that runs, a prompt that waits for that
 * turn and was cancelled, or nothing (null).
 *
 * @example
 * const endOf = createTurnEnds();
 * const ends = records.filter((record) => endOf(record) === "turn");
 */
export function createTurnEnds(): (record: {
  readonly type: string;
  readonly turn: number | null;
}) => "turn" | "waiting" | null {
  let running: number | null = null;
  return ({ type, turn }) => {
    if (type === "turn_start") running = turn;
    if (!endsTurn(type)) return null;
    if (running !== null && turn !== running) return "waiting";
    running = null;
    return "turn";
  };
}

/**
 * Upgrades records of earlier programs for folds; raw replay shows them unchanged. Returns a function that returns a record unchanged, or
 * with the present names if it is an older one. It returns null for an older record without a counterpart and for an invalid record, since
 * a log may hold any line. Each log needs a function of its own, because an older record belongs to the turn of the last prompt before it.
 *
 * @example
 * const upgrade = createUpgrade();
 * for (const record of log.map(upgrade)) if (record) fold.apply(record);
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

/**
 * Upgrades the metadata of an older record to the present names.
 *
 * @example
 * upgradeMetadata("text_delta", { content: "hi" }, 1); // { text: "hi" }
 */
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
    // A turn without a step would count as a slash command, and this one was not.
    steps: countOf(old["steps"]) || 1,
    tool_calls_total: countOf(old["tool_calls_total"]),
    cost: typeof old["cost"] === "number" ? old["cost"] : 0,
    success: old["success"] === true,
    error: typeof old["error"] === "string" ? old["error"] : null,
  }),
};

/** Whether the turn, the metadata and a delta's text are valid. Readers check the other fields where they use them. */
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
