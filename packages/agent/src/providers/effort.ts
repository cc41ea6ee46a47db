/** How hard a model is asked to think. */
import type { Env } from "./table.js";

export const EFFORTS = ["low", "medium", "high"] as const;
export type Effort = (typeof EFFORTS)[number];
/** What a person may say; `off` asks for no thinking. */
export type EffortChoice = Effort | "off";

/** Tokens to think with, for models that are given a number of them: they count as part of a reply. */
export function budgetOf(effort: Effort, maxOutput = Number.POSITIVE_INFINITY): number {
  return Math.min(TOKENS[effort], maxOutput / 2);
}

/** null for anything else: it is left to the model. */
export function parseEffort(value: unknown): EffortChoice | null {
  const level = typeof value === "string" ? value.toLowerCase() : "";
  return level === "off" ? level : (EFFORTS.find((effort) => effort === level) ?? null);
}

/** What the person set for every session. */
export function effortIn(env: Env): EffortChoice | null {
  return parseEffort(env["CHIMERA_THINKING_LEVEL"]);
}

/** What a request asks for, or else every request; null where thinking is not asked for. */
export function effortOf({ effort }: { readonly effort?: EffortChoice }, usual: EffortChoice | null): Effort | null {
  const asked = effort ?? usual;
  return asked === "off" ? null : asked;
}

// --- internal ---

const TOKENS: Readonly<Record<Effort, number>> = { low: 4_096, medium: 12_288, high: 24_576 };
