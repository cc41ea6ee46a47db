/** A summary from outside, with every field of the type it must have and the id it is filed under. */
import { sessionPrefix } from "@chimera/event-store";
import { SUMMARY_VERSION, type Summary } from "@chimera/session";

export function importedSummary(
  given: Readonly<Record<string, unknown>>,
  id: string,
  facts: { readonly turns: number; readonly cwd: string; readonly now: string },
): Summary {
  const text = (name: string): string | null => {
    const value = given[name];
    return typeof value === "string" ? value : null;
  };
  const number = (name: string): number => {
    const value = given[name];
    return typeof value === "number" && Number.isFinite(value) ? value : 0;
  };
  const time = (name: string): string | null => (Number.isNaN(Date.parse(text(name) ?? "")) ? null : text(name));
  const parent = text("parent_id");
  const forked = time("forked_at");
  return {
    v: SUMMARY_VERSION,
    session_id: id,
    run_id: id,
    started_at: time("started_at") ?? facts.now,
    ended_at: time("ended_at"),
    model: text("model") ?? "",
    prompt: text("prompt") ?? "",
    cwd: text("cwd") ?? facts.cwd,
    directories: Array.isArray(given["directories"])
      ? given["directories"].filter((path): path is string => typeof path === "string")
      : [],
    agent: text("agent") ?? sessionPrefix(id),
    steps: number("steps"),
    tool_calls_total: number("tool_calls_total"),
    turns: facts.turns,
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
  };
}
