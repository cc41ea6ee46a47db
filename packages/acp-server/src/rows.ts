/** Rows of a dialect from two tables of the same names: what each method takes and answers, and what it does. */
import type { deferred, InputOf, Methods, OutputOf, RequestContext, StandardSchema } from "@chimera/ndjson-rpc";

/** A method's shape; a result that is not described may be anything. */
export interface Shape {
  readonly params: StandardSchema;
  readonly result?: StandardSchema | null;
}

type Answer<S extends Shape> = InputOf<S["result"]> | typeof deferred;

export type Handlers<S extends Readonly<Record<string, Shape>>> = {
  readonly [K in keyof S]?: (
    params: OutputOf<S[K]["params"]>,
    request: RequestContext<InputOf<S[K]["result"]>>,
  ) => Answer<S[K]> | Promise<Answer<S[K]>>;
};

/** A row for each method that has a handler. */
export function rowsOf<const S extends Readonly<Record<string, Shape>>>(shapes: S, handlers: Handlers<S>): Methods {
  const rows = Object.entries(handlers).map(([name, handle]) => [name, { params: shapes[name]?.params, handle }]);
  return Object.fromEntries(rows);
}
