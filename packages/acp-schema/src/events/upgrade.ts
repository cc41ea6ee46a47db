/** Upgrades records that programs before this one wrote. Raw replay shows them as they are; folds read them so. */
import type { SessionEvent } from "./record.js";

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns a function that gives a record back as it is, or with the names of today if it is an older one; null for an older record
 * that has no counterpart, and for one that no program writes: anybody may put a line into a log. One function per log, because older
 * records belong to the turn of the last prompt before them.
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
