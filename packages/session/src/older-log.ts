/**
 * Logs that another program wrote before us: a file per event, no turn named, some things called otherwise. They are shown as
 * they are; whoever goes on with one reads it through this.
 */
import type { SessionEvent } from "@chimera/acp-schema/events";

type Fields = Readonly<Record<string, unknown>>;

/** Type -> its metadata in our words. What else such logs hold is there to be looked at, not to go on from. */
export const OLDER_METADATA: Readonly<Record<string, (old: Fields, turn: number) => object>> = {
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

/**
 * Gives a record back as it is, or in our words if it is an older one; null when that cannot be. One reader per log: turns are
 * counted by their prompts.
 */
export function createOlderReader(): <R extends SessionEvent>(record: R) => R | null {
  let turns = 0;
  return (record) => {
    if (record.turn !== undefined) return record;
    const translate = Object.hasOwn(OLDER_METADATA, record.type) ? OLDER_METADATA[record.type] : undefined;
    if (!translate) return null;
    if (record.type === "user_message") turns++;
    const turn = Math.max(0, turns - 1);
    return { ...record, turn, metadata: translate({ ...(record.metadata as Fields | undefined) }, turn) };
  };
}

// --- internal ---

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function countOf(value: unknown): number {
  return typeof value === "number" && Number.isInteger(value) && value > 0 ? value : 0;
}
