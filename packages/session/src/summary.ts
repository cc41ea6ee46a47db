/** `summary.json`: what lists and rollups read without opening a log. Rebuilt from the session at every turn end. */

import type { Conversation } from "@chimera/acp-schema/conversation";
import { startOf } from "@chimera/acp-schema/text";
import { sessionPrefix, sessionTime } from "@chimera/event-store";
import type { Bounds } from "./settings.js";

export const SUMMARY_VERSION = 1;

export interface Summary {
  readonly v: number;
  readonly session_id: string;
  readonly run_id: string;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly model: string;
  readonly prompt: string;
  readonly cwd: string;
  readonly directories: readonly string[];
  /** The program that made it: otter, ferret. */
  readonly agent: string;
  readonly steps: number;
  readonly tool_calls_total: number;
  readonly turns: number;
  readonly success: boolean;
  readonly cost_usd: number;
  readonly total_tokens: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_tokens: number;
  readonly error: string | null;
  readonly title: string | null;
  readonly parent_id?: string;
  readonly forked_at?: string;
  /** What its maker held it to. */
  readonly bounds?: Partial<Bounds>;
  /** Torn down by its owner: kept as a record of what happened, no longer a session to talk to. */
  readonly closed?: boolean;
}

/** What a summary says that the log does not. */
export interface SummaryFacts {
  readonly id: string;
  readonly program: string;
  readonly cwd: string;
  readonly directories: readonly string[];
  readonly createdAt: number;
  readonly model: string;
  readonly bounds: Partial<Bounds>;
  readonly parentId?: string;
}

export function summarize(facts: SummaryFacts, conversation: Conversation, endedAt: number | null): Summary {
  const { usage, lastResult, title, firstPrompt, steps, toolCalls } = conversation.facts;
  const input = usage?.input ?? 0;
  const output = usage?.output ?? 0;
  const cache = usage?.cache ?? 0;
  return {
    v: SUMMARY_VERSION,
    session_id: facts.id,
    run_id: facts.id,
    started_at: isoSeconds(facts.createdAt),
    ended_at: endedAt === null ? null : isoSeconds(endedAt),
    model: facts.model,
    prompt: firstPrompt ?? "",
    cwd: facts.cwd,
    directories: facts.directories,
    agent: facts.program,
    steps,
    tool_calls_total: toolCalls,
    turns: conversation.turns.length,
    success: lastResult?.success ?? false,
    cost_usd: usage?.total_usd ?? 0,
    total_tokens: input + output + cache,
    input_tokens: input,
    output_tokens: output,
    cache_tokens: cache,
    error: lastResult?.error ?? null,
    title,
    ...(facts.parentId !== undefined && { parent_id: facts.parentId, forked_at: isoSeconds(facts.createdAt) }),
    ...(Object.keys(facts.bounds).length > 0 && { bounds: facts.bounds }),
  };
}

/**
 * A summary as a store has it: ours as it stands, another program's or a damaged one with every field of the type it must have
 * and the id it is filed under. Where it does not say where it worked, `cwd` is empty.
 */
export function readSummary(id: string, stored: object): Summary {
  const given = stored as Readonly<Record<string, unknown>>;
  if (given["v"] === SUMMARY_VERSION && given["session_id"] === id && typeof given["cwd"] === "string")
    return stored as Summary;
  const text = (name: string): string | null => {
    const value = given[name];
    return typeof value === "string" ? value : null;
  };
  const number = (name: string): number => {
    const value = given[name];
    return typeof value === "number" && Number.isFinite(value) ? value : 0;
  };
  const time = (name: string): string | null => (Number.isNaN(Date.parse(text(name) ?? "")) ? null : text(name));
  const { bounds } = given;
  const parent = text("parent_id");
  const forked = time("forked_at");
  return {
    v: SUMMARY_VERSION,
    session_id: id,
    run_id: id,
    started_at: time("started_at") ?? isoSeconds(sessionTime(id) || 0),
    ended_at: time("ended_at"),
    model: text("model") ?? "",
    prompt: text("prompt") ?? "",
    cwd: text("cwd") ?? "",
    directories: Array.isArray(given["directories"])
      ? given["directories"].filter((path): path is string => typeof path === "string")
      : [],
    agent: text("agent") ?? sessionPrefix(id),
    steps: number("steps"),
    tool_calls_total: number("tool_calls_total"),
    turns: number("turns"),
    success: given["success"] === true,
    cost_usd: number("cost_usd"),
    total_tokens: number("total_tokens"),
    input_tokens: number("input_tokens"),
    output_tokens: number("output_tokens"),
    cache_tokens: number("cache_tokens"),
    error: text("error"),
    title: text("title"),
    ...(parent !== null && { parent_id: parent }),
    ...(forked !== null && { forked_at: forked }),
    ...(typeof bounds === "object" && bounds !== null && { bounds }),
    ...(given["closed"] === true && { closed: true }),
  };
}

/** ISO-8601 UTC to the second, as summaries have always been written. */
export function isoSeconds(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/** A session's title: the first line of its first answer, without Markdown's marks, cut at a word. */
export function titleFrom(answer: string): string | null {
  const line = startOf(answer, SEARCHED_CHARS)
    .split("\n")
    .map((text) =>
      text
        .replace(/^[#>*\-\s`]+/, "")
        .replace(/[*_`]+/g, "")
        .trim(),
    )
    .find((text) => text.length > 0);
  if (!line) return null;
  if (line.length <= TITLE_CHARS) return line;
  const cut = startOf(line, TITLE_CHARS);
  const space = cut.lastIndexOf(" ");
  return `${(space > TITLE_CHARS / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}

// --- internal ---

const TITLE_CHARS = 60;
/** How much of an answer is looked through for its first line. */
const SEARCHED_CHARS = 4096;
