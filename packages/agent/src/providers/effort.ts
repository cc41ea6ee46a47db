/** How hard a model is asked to think. */
import type { Env } from "./table.js";

const EFFORTS = ["low", "medium", "high"] as const;
export type Effort = (typeof EFFORTS)[number];

/** Tokens to think with, for models that are given a number of them: they count as part of a reply. */
export function budgetOf(effort: Effort, maxOutput = Number.POSITIVE_INFINITY): number {
  return Math.min(TOKENS[effort], maxOutput / 2);
}

/** What the person set; null leaves it to the model, `off` asks for no thinking. */
export function effortIn(env: Env): Effort | "off" | null {
  const level = env["CHIMERA_THINKING_LEVEL"]?.toLowerCase();
  return level === "off" ? level : (EFFORTS.find((effort) => effort === level) ?? null);
}

// --- internal ---

const TOKENS: Readonly<Record<Effort, number>> = { low: 4_096, medium: 12_288, high: 24_576 };
