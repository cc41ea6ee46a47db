import type { LineSubject } from "./channel.js";
import type { RequestId } from "./frame.js";
import type { InputOf, OutputOf, StandardSchema } from "./standard-schema.js";

/** Returned by a handler that answers later through `context.reply` or `context.fail`. */
export const deferred: unique symbol = Symbol.for("@chimera/ndjson-rpc/deferred");

/** What a handler is given beside its params. That of a notification has the id null, and its answers go nowhere. */
export interface RequestContext<Result = unknown> {
  readonly id: RequestId;
  readonly method: string;
  /** Aborts on `$/cancel_request` for this request and when the connection closes. */
  readonly signal: AbortSignal;
  /** Calls one listener where the signal would abort, or at once where it has: most requests need no more, and a signal is not cheap. */
  onAbort(listener: (reason: unknown) => void): void;
  /**
   * Answers at this very moment: after every line queued before the call, before every line queued after it. The first
   * answer of a request counts, later ones (a returned value included) are ignored.
   */
  reply(result: Result, subject?: LineSubject): void;
  /** Answers with an error at this very moment; plain errors go through the table's error mapping. */
  fail(error: unknown, subject?: LineSubject): void;
  /** Sends the answer once more: the channel lost it. Nothing when there is none yet. */
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

/** A table, or a function that finds the row of a method. */
export type MethodSource = Methods | ((method: string) => MethodRow | undefined);

/** Declares a request or a notification: params and result types of `handle` follow from the schemas. */
export function row<P extends Schema = undefined, R extends Schema = undefined>(
  declared: MethodRow<P, R>,
): MethodRow<P, R> {
  return declared;
}

/** A table of rows; only its own names resolve, `__proto__` and `constructor` never do. */
export function defineMethods<const M extends Methods>(rows: M): M {
  return Object.freeze(Object.assign(Object.create(null), rows));
}

/** Params a caller passes to a declared method. */
export type ParamsOf<Row> = Row extends { readonly params?: infer P } ? InputOf<NonNullable<P>> : unknown;

/** The result a caller receives from a declared request. */
export type ResultOf<Row> = Row extends { readonly result?: infer R } ? OutputOf<NonNullable<R>> : unknown;
