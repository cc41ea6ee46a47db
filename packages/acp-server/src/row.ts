/** Rows of a dialect: made from a table of shapes and one of handlers, and loaded when the first of them is called. */
import type {
  deferred,
  InputOf,
  MethodRow,
  Methods,
  OutputOf,
  RequestContext,
  StandardSchema,
} from "@chimera/ndjson-rpc";

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

/** A table whose rows are known by name and loaded with the first call: `initialize` needs no schema and no handler. */
export function lazyMethods(names: readonly string[], load: () => Promise<Methods>): Methods {
  let loaded: Promise<Methods> | undefined;
  const rowOf = async (name: string): Promise<MethodRow> => {
    loaded ??= load().then((rows) => sameNames(names, rows));
    return (await loaded)[name]!;
  };
  const rows = names.map((name): [string, MethodRow] => {
    const params: StandardSchema = {
      "~standard": {
        version: 1,
        vendor: "chimera",
        validate: async (value) => (await rowOf(name)).params?.["~standard"].validate(value) ?? { value },
      },
    };
    return [name, { params, handle: async (given, context) => (await rowOf(name)).handle?.(given as never, context) }];
  });
  return Object.fromEntries(rows);
}

// --- internal ---

/** A row whose name is not listed could never be called, and nobody would notice. */
function sameNames(names: readonly string[], rows: Methods): Methods {
  const all = [...new Set([...names, ...Object.keys(rows)])];
  const odd = all.filter((name) => !names.includes(name) || !Object.hasOwn(rows, name));
  if (odd.length > 0) throw new Error(`the list of methods and their rows disagree on ${odd.join(", ")}`);
  return rows;
}
