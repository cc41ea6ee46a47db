import type { LineSubject } from "./channel.js";
import type { RequestId } from "./frame.js";
import type { InputOf, OutputOf, StandardSchema } from "./standard-schema.js";

/** A handler returns this when it answers later through `context.reply` or `context.fail`. */
export const deferred: unique symbol = Symbol.for("@chimera/ndjson-rpc/deferred");

/** The second argument of a handler. For a notification the id is null, and answers are discarded. */
export interface RequestContext<Result = unknown> {
  readonly id: RequestId;
  readonly method: string;
  /** Aborts on `$/cancel_request` for this request and when the connection closes. */
  readonly signal: AbortSignal;
  /** Calls one listener when the signal would abort, or at once if it already has. Cheaper than a signal, and enough for most requests. */
  onAbort(listener: (reason: unknown) => void): void;
  /**
   * Queues the answer now: after every line queued before this call, and before every line queued after it. Only the first
   * answer of a request counts; later ones, including a returned value, are ignored.
   */
  reply(result: Result, subject?: LineSubject): void;
  /** Queues an error as the answer now. Errors other than {@link RpcError} go through the connection's error mapping. */
  fail(error: unknown, subject?: LineSubject): void;
  /** Sends the answer once more, for a channel that lost it. Does nothing before there is an answer. */
  repeat(subject?: LineSubject): void;
}

type Schema = StandardSchema | undefined;

/** The declaration of a request or a notification; with `handle` it is a row of a method table. */
export interface MethodRow<P extends Schema = Schema, R extends Schema = Schema> {
  readonly params?: P;
  /** Types the handler's result, and validates the peer's answer when this side is the caller. */
  readonly result?: R;
  handle?(
    params: OutputOf<P>,
    context: RequestContext<InputOf<R>>,
  ): InputOf<R> | typeof deferred | Promise<InputOf<R> | typeof deferred>;
}

export type Methods = Readonly<Record<string, MethodRow>>;

/** A table of rows by method name, or a function that finds the row of a method. */
export type MethodSource = Methods | ((method: string) => MethodRow | undefined);

/**
 * Declares a request or a notification. The types of `handle`'s params and result follow from the schemas.
 *
 * @example
 * const echo = row({ params: EchoParams, result: EchoResult, handle: ({ text }) => ({ text }) });
 */
export function row<P extends Schema = undefined, R extends Schema = undefined>(
  declared: MethodRow<P, R>,
): MethodRow<P, R> {
  return declared;
}

/**
 * Makes a table of rows. Only the names of its rows resolve; `__proto__` and `constructor` never do.
 *
 * @example
 * const methods = defineMethods({ echo: row({ params: EchoParams, handle: (params) => params }) });
 */
export function defineMethods<const M extends Methods>(rows: M): M {
  return Object.freeze(Object.assign(Object.create(null), rows));
}

/** The params that a caller passes to a declared method. */
export type ParamsOf<Row> = Row extends { readonly params?: infer P } ? InputOf<NonNullable<P>> : unknown;

/** The result a caller receives from a declared request. */
export type ResultOf<Row> = Row extends { readonly result?: infer R } ? OutputOf<NonNullable<R>> : unknown;
