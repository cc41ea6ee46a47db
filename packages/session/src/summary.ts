/** A session's summary: how it is made from the log, when it is saved, and how a store makes a lost one again. */
import { type Conversation, foldConversation } from "@chimera/acp-schema/conversation";
import { endsTurn, isLost, type SessionEvent } from "@chimera/acp-schema/events";
import {
  type Birth,
  birthOf,
  PROMPT_LENGTH,
  readSummary,
  SUMMARY_VERSION,
  type Summary,
  type SummaryBounds,
  type SummaryState,
  unheld,
} from "@chimera/acp-schema/summary";
import { beginningOf, startOf } from "@chimera/acp-schema/text";
import type { SummaryForm } from "@chimera/event-store";
import { limits } from "./limits.js";

/** The facts of a summary that are not in the log. */
export interface SummaryFacts {
  readonly id: string;
  readonly program: string;
  readonly cwd: string;
  readonly directories: readonly string[];
  readonly createdAt: number;
  readonly model: string;
  readonly bounds: SummaryBounds;
  readonly owner?: string;
  readonly parentId?: string;
  readonly request?: MakingRequest;
}

/** The request that made a session. If it is sent again, it finds the session. */
export interface MakingRequest {
  /** The sender's own name for the request. */
  readonly key: string;
  /** The digest of the whole request. */
  readonly digest: string;
}

/** Lets a store of sessions read summaries, and make lost or outdated ones from the log. */
export const sessionSummaries: SummaryForm<SessionEvent, Summary> = {
  read: readSummary,
  isOutdated(stored) {
    const { v, cwd } = stored as Partial<Summary>;
    // A summary of version 1 has the state at the end of the last turn, even if another turn has begun since. A summary without a directory
    // was written by another program.
    return v === 1 || (v === SUMMARY_VERSION && typeof cwd !== "string");
  },
  birth: birthOf,
  unheld,
  async derive(id, known, entries) {
    const conversation = foldConversation({ keep: "state" });
    for await (const entry of entries) {
      if (isLost(entry)) conversation.apply(entry);
      else if (!SAYS_NOTHING.has(entry.type)) conversation.apply(entry.event);
    }
    const before = readSummary(id, known);
    const birth = { ...birthOf(before), model: conversation.settings.model ?? before.model };
    // Version 0.1 wrote no record of a tear-down.
    return { ...summaryOf(id, birth, conversation), ...(before.closed && { closed: true }) };
  },
};

export function summarize(facts: SummaryFacts, conversation: Conversation): Summary {
  const { id, program, cwd, directories, createdAt, model, bounds, owner, parentId, request } = facts;
  const created = isoSeconds(createdAt);
  const birth: Birth = {
    started_at: created,
    model,
    cwd,
    directories,
    agent: program,
    ...(owner !== undefined && { owner }),
    ...(parentId !== undefined && { parent_id: parentId, forked_at: created }),
    ...(Object.keys(bounds).length > 0 && { bounds }),
    ...(request && { key: request.key, request: request.digest }),
  };
  return summaryOf(id, birth, conversation);
}

/**
 * True for a record that changes what a list shows. Other records do not cause a write of the summary.
 *
 * @example
 * if (changesSummary(record)) refreshList();
 */
export function changesSummary({ type }: SessionEvent): boolean {
  return LISTED.has(type) || endsTurn(type);
}

export type SummarySaver = ReturnType<typeof createSummarySaver>;

/**
 * Saves the summary, from which other processes make their lists. It is not synced to the disk, so after a crash of the machine a list may be
 * slightly old; only the log is synced. A very short turn causes one write, and no prompt waits for a summary.
 */
export function createSummarySaver(write: () => Promise<void>) {
  let saving: Promise<void> | null = null;
  let isUnsaved = false;
  let timer: NodeJS.Timeout | undefined;
  const drain = async (): Promise<void> => {
    // All records of this tick share one write.
    await Promise.resolve();
    while (isUnsaved) {
      isUnsaved = false;
      await write();
    }
    saving = null;
  };
  const save = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    isUnsaved = true;
    saving ??= drain();
    return saving;
  };
  return {
    /** Writes the summary now. Changes during the write share the next one. */
    save,
    /** Writes the summary soon, unless `save` writes it before. */
    soon() {
      timer ??= setTimeout(save, limits.summaryDelayMs).unref();
    },
  };
}

/**
 * A session's title: the first line of its first answer, without Markdown's marks, cut at a word.
 *
 * @example
 * titleFrom("# Tests\n\nAll pass."); // "Tests"
 */
export function titleFrom(answer: string): string | null {
  const line = startOf(answer, SEARCHED_CHARS)
    .split("\n")
    .filter((text) => !FENCE.test(text))
    .map((text) => MARKS.reduce((plain, [mark, kept]) => plain.replace(mark, kept), text).trim())
    .find((text) => text.length > 0);
  if (!line) return null;
  if (line.length <= TITLE_CHARS) return line;
  const cut = startOf(line, TITLE_CHARS);
  const space = cut.lastIndexOf(" ");
  return `${(space > TITLE_CHARS / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}

// --- internal ---

const TITLE_CHARS = 60;
/** Characters of an answer that are searched for its first line. */
const SEARCHED_CHARS = 4096;
const ERROR_CHARS = 1000;

/** A line that begins or ends a block of code, or a horizontal rule. */
const FENCE = /^\s*(?:```|~~~|[-=*_]{3,}\s*$)/;
/** The marks of Markdown, and the text that replaces each. An underscore inside a word stays: it belongs to a name. */
const MARKS: readonly (readonly [RegExp, string])[] = [
  [/[\t\r]+/g, " "],
  [/^(?:\s*(?:#{1,6}|>|[-*+]|\d{1,3}[.)])\s+)+/, ""],
  [/!?\[([^\]]*)\]\([^)]*\)/g, "$1"],
  [/<\/?[a-z][^>]*>/gi, ""],
  [/\*+|`+|~~/g, ""],
  [/(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, ""],
  [/\s+/g, " "],
];

const LISTED: ReadonlySet<string> = new Set([
  "user_message",
  "permission_request",
  "permission_resolved",
  "question_asked",
  "question_answered",
  "title_changed",
  "model_changed",
  "sharing_changed",
]);
/** Record types that do not change a summary. They are most of a log: texts of models and output of tools. */
const SAYS_NOTHING: ReadonlySet<string> = new Set([
  "text_delta",
  "thought_delta",
  "part_end",
  "tool_progress",
  "tool_result",
]);

function summaryOf(id: string, birth: Birth, conversation: Conversation): Summary {
  const { usage, lastResult, title, isShared, isTornDown, firstPrompt, steps, toolCalls } = conversation.facts;
  const input = usage?.input ?? 0;
  const output = usage?.output ?? 0;
  const cache = usage?.cache ?? 0;
  const { started_at, model, cwd, directories, agent, ...rest } = birth;
  const { engine } = conversation.settings.options;
  const endedAt = Date.parse(conversation.facts.endedAt ?? "");
  return {
    v: SUMMARY_VERSION,
    session_id: id,
    run_id: id,
    started_at,
    ended_at: Number.isNaN(endedAt) ? null : isoSeconds(endedAt),
    model,
    prompt: beginningOf(firstPrompt ?? "", PROMPT_LENGTH),
    cwd,
    directories,
    agent,
    steps,
    tool_calls_total: toolCalls,
    turns: conversation.turns.length,
    success: lastResult?.success ?? false,
    cost_usd: usage?.total_usd ?? 0,
    total_tokens: input + output + cache,
    input_tokens: input,
    output_tokens: output,
    cache_tokens: cache,
    error: lastResult?.error == null ? null : beginningOf(lastResult.error, ERROR_CHARS),
    title,
    state: stateOf(conversation),
    ...(isShared && { shared: true }),
    ...(isTornDown && { closed: true }),
    ...(typeof engine === "string" && { engine }),
    ...(conversation.turns[0]?.key != null && { key: conversation.turns[0].key }),
    ...rest,
  };
}

function stateOf({ turns, openPermissions, openQuestions }: Conversation): SummaryState {
  // A prompt that could not be written leaves a gap in the numbers of turns.
  if (!turns.some((turn) => turn && !turn.ended)) return "idle";
  return openPermissions.size + openQuestions.size > 0 ? "waiting" : "running";
}

/** ISO-8601 UTC in whole seconds, as in all summaries. */
function isoSeconds(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}
