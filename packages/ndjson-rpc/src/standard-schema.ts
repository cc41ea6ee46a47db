/** The Standard Schema interface (standardschema.dev), version 1: valibot, zod, arktype and others implement it. */
import { startOf } from "./frame.js";

export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The type of values that a schema accepts; `unknown` without a schema. */
export type InputOf<S> = S extends StandardSchema ? NonNullable<S["~standard"]["types"]>["input"] : unknown;

/** The type of values that a schema returns; `unknown` without a schema. */
export type OutputOf<S> = S extends StandardSchema ? NonNullable<S["~standard"]["types"]>["output"] : unknown;

/** One invalid place in a value, as `error.data.issues` of -32602 lists it. */
export interface InvalidPath {
  /** A path such as `/a/0/b`; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

// Without these limits a hostile value could cause an answer larger than itself.
const MAX_ISSUES = 20;
const MAX_MESSAGE = 200;

export function invalidPaths(issues: readonly SchemaIssue[]): InvalidPath[] {
  return issues.slice(0, MAX_ISSUES).map((issue) => ({
    path: (issue.path ?? [])
      .map((segment) => `/${String(typeof segment === "object" ? segment.key : segment)}`)
      .join(""),
    message: startOf(issue.message, MAX_MESSAGE),
  }));
}
