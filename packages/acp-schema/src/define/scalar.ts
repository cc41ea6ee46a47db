/** The schemas of most fields. */
import * as v from "valibot";

export const text = v.string();
export const count = v.pipe(v.number(), v.integer(), v.minValue(0));
