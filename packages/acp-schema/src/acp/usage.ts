/** How full the context is and what the session has cost. */
import * as v from "valibot";
import { uint64 } from "../define/number.js";
import { maybe, object } from "../define/shape.js";

export const Cost = object(() => ({
  amount: v.number(),
  /** ISO 4217. */
  currency: v.string(),
}));
export type Cost = v.InferOutput<typeof Cost>;

export const UsageUpdate = object(() => ({ used: uint64(), size: uint64(), cost: maybe(Cost) }));
export type UsageUpdate = v.InferOutput<typeof UsageUpdate>;
