import { type ListedSession, sessionPrefix } from "@chimera/event-store";

/** A session as lists and rollups see it: what its summary says, whoever wrote it. */
export interface Run {
  readonly run_id: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly model: string;
  readonly prompt: string;
  readonly success: boolean;
  readonly cost_usd: number;
  readonly steps: number;
  readonly tool_calls: number;
  readonly total_tokens: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_tokens: number;
  readonly source: RunSource;
}

/** The programs whose sessions are reported together. */
export const RUN_PREFIXES = ["mink", "otter", "ferret"] as const;

export type RunSource = (typeof RUN_PREFIXES)[number] | "unknown";

/** Field -> the names it has had, best first. The first that holds a number wins. */
const TOKEN_NAMES = {
  total_tokens: ["total_tokens", "tokens_total"],
  input_tokens: ["input_tokens", "prompt_tokens", "tokens_input"],
  output_tokens: ["output_tokens", "completion_tokens", "tokens_output"],
  cache_tokens: ["cache_tokens", "cache_read_input_tokens", "cache_read_tokens", "cached_tokens"],
} as const;

/** Reads a summary leniently: a missing or odd value counts as absent. Null for a session that was never prompted. */
export function readRun({ id, summary }: Pick<ListedSession<object>, "id" | "summary">): Run | null {
  const fields = summary as Readonly<Record<string, unknown>>;
  if (fields["turns"] === 0) return null;
  const writer = sessionPrefix(id);
  const integer = (names: readonly string[]): number => {
    for (const name of names) {
      const value = toNumber(fields[name]);
      if (value !== null) return Math.trunc(value);
    }
    return 0;
  };
  return {
    run_id: id,
    started_at: toText(fields["started_at"]),
    ended_at: toText(fields["ended_at"]),
    model: toText(fields["model"]) ?? "",
    prompt: toText(fields["prompt"]) ?? "",
    success: fields["success"] === true,
    cost_usd: toNumber(fields["cost_usd"]) ?? 0,
    steps: integer(["steps"]),
    tool_calls: integer(["tool_calls_total", "tool_calls"]),
    total_tokens: integer(TOKEN_NAMES.total_tokens),
    input_tokens: integer(TOKEN_NAMES.input_tokens),
    output_tokens: integer(TOKEN_NAMES.output_tokens),
    cache_tokens: integer(TOKEN_NAMES.cache_tokens),
    source: RUN_PREFIXES.find((prefix) => prefix === writer) ?? "unknown",
  };
}

// --- internal ---

function toText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function toNumber(value: unknown): number | null {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : null;
}
