/** The agent's plan; each update replaces it whole. */
import * as v from "valibot";
import { object, requiredItems } from "../define/shape.js";

export const PlanEntryPriority = v.picklist(["high", "medium", "low"]);
export type PlanEntryPriority = v.InferOutput<typeof PlanEntryPriority>;

export const PlanEntryStatus = v.picklist(["pending", "in_progress", "completed"]);
export type PlanEntryStatus = v.InferOutput<typeof PlanEntryStatus>;

export const PlanEntry = object(() => ({
  content: v.string(),
  priority: PlanEntryPriority,
  status: PlanEntryStatus,
}));
export type PlanEntry = v.InferOutput<typeof PlanEntry>;

export const Plan = object(() => ({ entries: requiredItems(PlanEntry) }));
export type Plan = v.InferOutput<typeof Plan>;
