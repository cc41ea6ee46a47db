/** The integers of the specification. 64-bit ones have no upper bound: `JSON.parse` has rounded what did not fit. */
import * as v from "valibot";

/** 32 bits, unsigned. */
// @__NO_SIDE_EFFECTS__
export const uint32 = () => v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(0xffff_ffff));

/** 64 bits, unsigned. */
// @__NO_SIDE_EFFECTS__
export const uint64 = () => v.pipe(v.number(), v.integer(), v.minValue(0));

/** 64 bits, signed. */
// @__NO_SIDE_EFFECTS__
export const int64 = () => v.pipe(v.number(), v.integer());
