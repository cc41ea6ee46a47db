/** Plans that have a name, and may live in a file. */
import * as v from "valibot";
import { Plan } from "../acp/plan.js";
import { object, variant } from "../define/shape.js";

export const PlanId = v.string();

export const PlanItems = object(() => ({ planId: PlanId, entries: Plan.entries.entries }));
export type PlanItems = v.InferOutput<typeof PlanItems>;

export const PlanFile = object(() => ({ planId: PlanId, uri: v.string() }));
export type PlanFile = v.InferOutput<typeof PlanFile>;

export const PlanMarkdown = object(() => ({ planId: PlanId, content: v.string() }));
export type PlanMarkdown = v.InferOutput<typeof PlanMarkdown>;

export const PlanUpdateContent = variant("type", () => ({ items: PlanItems, file: PlanFile, markdown: PlanMarkdown }));
export type PlanUpdateContent = v.InferOutput<typeof PlanUpdateContent>;

export const PlanUpdate = object(() => ({ plan: PlanUpdateContent }));
export type PlanUpdate = v.InferOutput<typeof PlanUpdate>;

export const PlanRemoved = object(() => ({ planId: PlanId }));
export type PlanRemoved = v.InferOutput<typeof PlanRemoved>;
