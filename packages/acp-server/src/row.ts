/** Rows of a dialect: made from a table of shapes, one of traits and one of handlers, and loaded when the first of them is called. */
import type {
  deferred,
  InputOf,
  MethodRow,
  OutputOf,
  RequestContext,
  RpcError,
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

/** What a call of a remote console is held to: `packages/acp-server/src/remote.ts`. */
export type RemoteRule =
  | "own"
  | "brings_nothing"
  | "own_hands"
  | "plain_prompt"
  | "narrower_mode"
  | "narrower_approval"
  | "narrower_option"
  | "unscripted_modelId"
  | "unscripted_model";

/** What is known of a method besides its shape and what it does. */
export interface Traits {
  /** What `initialize` names it by among the capabilities of sessions. */
  readonly capability?: string;
  /** The rules for a remote console; absent: it may not call the method. */
  readonly remote?: readonly RemoteRule[];
}

export type MethodTraits = Readonly<Record<string, Traits>>;

export type Rows = Readonly<Record<string, MethodRow & Traits>>;

/**
 * A row for each method of the traits, all of which have a handler.
 *
 * @example
 * const rows = rowsOf({ "_me/hello": { params: Hello } }, { "_me/hello": {} }, { "_me/hello": ({ name }) => ({ said: name }) });
 */
export function rowsOf<const S extends Readonly<Record<string, Shape>>, const T extends MethodTraits>(
  shapes: S,
  traits: T,
  handlers: Required<Pick<Handlers<S>, keyof S & keyof T>>,
): Rows {
  const all = handlers as Handlers<S>;
  return Object.fromEntries(
    Object.entries(traits).map(([name, known]) => [
      name,
      { ...known, params: shapes[name]?.params, handle: all[name] } as MethodRow & Traits,
    ]),
  );
}

/** Finds rows that are loaded with the first call: `initialize` needs no schema and no handler. */
export function lazyRows(
  load: () => Promise<Rows>,
  missing: (method: string) => Promise<RpcError>,
): (method: string) => MethodRow {
  let loaded: Promise<Rows> | undefined;
  return (method) => {
    const find = async (): Promise<MethodRow> => {
      loaded ??= load();
      const rows = await loaded;
      if (!Object.hasOwn(rows, method)) throw await missing(method);
      return rows[method]!;
    };
    const validate = async (value: unknown) => (await find()).params?.["~standard"].validate(value) ?? { value };
    return {
      params: { "~standard": { version: 1, vendor: "chimera", validate } },
      handle: async (given, context) => (await find()).handle?.(given as never, context),
    };
  };
}
