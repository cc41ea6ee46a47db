/** Makes the rows of a dialect from tables of shapes, traits and handlers. */
import type { deferred, InputOf, MethodRow, OutputOf, RequestContext, StandardSchema } from "@chimera/ndjson-rpc";

/** The schemas of a method. Without a result schema the result may be anything. */
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

/** The rules for calls of a remote console, which `packages/acp-server/src/remote.ts` defines. */
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

/** Properties of a method besides its shape and its handler. */
export interface Traits {
  /** The name of the method among the session capabilities in the answer to `initialize`. */
  readonly capability?: string;
  /** The rules for a remote console. If absent, a remote console may not call the method. */
  readonly remote?: readonly RemoteRule[];
}

export type MethodTraits = Readonly<Record<string, Traits>>;

export type Rows = Readonly<Record<string, MethodRow & Traits>>;

/**
 * Makes a row for each method in `traits`, each of which must have a handler.
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
