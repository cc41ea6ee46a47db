/** What a Standard Schema (standardschema.dev, version 1) takes and gives: valibot, zod, arktype and others implement it. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { startOf } from "./frame.js";

export type { StandardSchemaV1 as StandardSchema };

/** The type of values that a schema accepts; `unknown` without a schema. */
export type InputOf<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferInput<S> : unknown;

/** The type of values that a schema returns; `unknown` without a schema. */
export type OutputOf<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : unknown;

/** One invalid place in a value, as `error.data.issues` of -32602 lists it. */
export interface InvalidPath {
  /** A path such as `/a/0/b`; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

// Without these limits a hostile value could cause an answer larger than itself.
const MAX_ISSUES = 20;
const MAX_MESSAGE = 200;

export function invalidPaths(issues: readonly StandardSchemaV1.Issue[]): InvalidPath[] {
  return issues.slice(0, MAX_ISSUES).map((issue) => ({
    path: (issue.path ?? [])
      .map((segment) => `/${String(typeof segment === "object" ? segment.key : segment)}`)
      .join(""),
    message: startOf(issue.message, MAX_MESSAGE),
  }));
}
