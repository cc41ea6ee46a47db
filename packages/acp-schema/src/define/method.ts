/** Defines one row per method, from which dispatch, types, documentation and tests follow. */
import type * as v from "valibot";

/** The side that answers: the agent, the client, a proxy between them, or both (`protocol`). */
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
  /** The capability that the method needs, as a path into the params or result of `initialize`; null for none. */
  readonly gate: string | null;
}

/** The rows by method name. */
export type Methods = Readonly<Record<string, Method>>;

/** The params that a handler of a row gets. */
export type Params<M extends Method> = v.InferOutput<M["params"]>;

/** The result that a handler of a row returns. */
export type Result<M extends Method> = M["result"] extends v.GenericSchema ? v.InferInput<M["result"]> : undefined;

// @__NO_SIDE_EFFECTS__
/**
 * Makes a side's rows from `name: [params, result, gate?]` for requests and `name: [params, null, gate?]` for notifications.
 *
 * @example
 * const methods = methodsOf("agent", { "session/cancel": [CancelNotification, null] });
 */
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
