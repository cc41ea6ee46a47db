/** One row per method: what drives dispatch, types, documentation and tests. */
import type * as v from "valibot";

/** Who answers: the agent, the client, a proxy between them, or either of them (`protocol`). */
export type Side = "agent" | "client" | "protocol" | "proxy";

/** A request and its answer, or a notification, which has no `result`. */
export interface Method<
  P extends v.GenericSchema = v.GenericSchema,
  R extends v.GenericSchema | null = v.GenericSchema | null,
> {
  readonly method: string;
  readonly side: Side;
  readonly kind: "request" | "notification";
  readonly params: P;
  readonly result: R;
  /** The capability that must have been offered, as a path into the `initialize` exchange; null when none is needed. */
  readonly gate: string | null;
}

/** Method name -> its row. */
export type Methods = Readonly<Record<string, Method>>;

/** What a handler of a row is given. */
export type Params<M extends Method> = v.InferOutput<M["params"]>;

/** What a handler of a row answers. */
export type Result<M extends Method> = M["result"] extends v.GenericSchema ? v.InferInput<M["result"]> : undefined;

/** A side's methods, from `name: [params, result, gate?]` for requests and `name: [params, null, gate?]` for notifications. */
// @__NO_SIDE_EFFECTS__
export function methodsOf<const T extends Record<string, RowSource>>(side: Side, rows: T): MethodsOf<T> {
  const methods: Record<string, Method> = {};
  for (const method in rows) {
    const [params, result, gate = null] = rows[method] as RowSource;
    methods[method] = { method, side, kind: result ? "request" : "notification", params, result, gate };
  }
  return methods as MethodsOf<T>;
}

export type RowSource = readonly [params: v.GenericSchema, result: v.GenericSchema | null, gate?: string];

export type MethodsOf<T extends Record<string, RowSource>> = { readonly [N in keyof T]: Method<T[N][0], T[N][1]> };
