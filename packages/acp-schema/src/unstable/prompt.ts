/** The end of a turn with what it used. */
import type * as v from "valibot";
import { PromptResponse as StablePromptResponse } from "../acp/prompt.js";
import { maybe, object, uint64 } from "../define/shape.js";

export const Usage = object(() => ({
  totalTokens: uint64(),
  inputTokens: uint64(),
  outputTokens: uint64(),
  thoughtTokens: maybe(uint64()),
  cachedReadTokens: maybe(uint64()),
  cachedWriteTokens: maybe(uint64()),
}));
export type Usage = v.InferOutput<typeof Usage>;

export const PromptResponse = object(() => ({ ...StablePromptResponse.entries, usage: maybe(Usage) }));
