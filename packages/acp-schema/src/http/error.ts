/** The body of every answer that is not a success. */
import * as v from "valibot";
import { plain } from "../define/shape.js";

/** `error` is the code; `detail` says where; `request_id` finds the rest in the log. */
export const ErrorReply = plain(() => ({
  error: v.string(),
  message: v.optional(v.string()),
  detail: v.optional(v.unknown()),
  request_id: v.optional(v.string()),
}));
export type ErrorReply = v.InferOutput<typeof ErrorReply>;
