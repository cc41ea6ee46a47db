/** The schemas of most fields. */
import * as v from "valibot";

export const text = v.string();
export const count = v.pipe(v.number(), v.integer(), v.minValue(0));
/** A number that counts from 1. */
export const ordinal = v.pipe(v.number(), v.integer(), v.minValue(1));
/** A moment in ISO 8601, in UTC. */
export const moment = v.string();
