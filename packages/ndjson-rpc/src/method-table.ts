import type { LineSubject } from "./channel.js";
import type { RequestId } from "./frame.js";
import type { InputOf, OutputOf, StandardSchema } from "./standard-schema.js";

/** Returned by a handler that answers later through `context.reply` or `context.fail`. */
export const deferred: unique symbol = Symbol.for("@chimera/ndjson-rpc/deferred");

/** What a request handler is given beside its params. */
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

/** What a notification handler is given beside its params. */
export interface NotificationContext {
  readonly method: string;
  /** Aborts when the connection closes. */
  readonly signal: AbortSignal;
}

type Schema = StandardSchema | undefined;

/** A request's declaration; with `handle` it is a row of a method table. */
export interface RequestRow<P extends Schema = Schema, R extends Schema = Schema> {
  readonly kind?: "request";
  readonly params?: P;
  /** Types the handler's result, and validates the peer's answer when this side is the caller. */
  readonly result?: R;
  handle?(
    params: OutputOf<P>,
    context: RequestContext<InputOf<R>>,
  ): InputOf<R> | typeof deferred | Promise<InputOf<R> | typeof deferred>;
}

/** A notification's declaration; with `handle` it is a row of a method table. */
export interface NotificationRow<P extends Schema = Schema> {
  readonly kind: "notification";
  readonly params?: P;
  handle?(params: OutputOf<P>, context: NotificationContext): void | Promise<void>;
}

export type MethodRow = RequestRow | NotificationRow;

export type Methods = Readonly<Record<string, MethodRow>>;

/** A table, or a function that finds the row of a method. */
export type MethodSource = Methods | ((method: string) => MethodRow | undefined);

/** Declares a request: params and result types of `handle` follow from the schemas. */
export function request<P extends Schema = undefined, R extends Schema = undefined>(
  row: Omit<RequestRow<P, R>, "kind">,
): RequestRow<P, R> {
  return row;
}

/** Declares a notification: the params type of `handle` follows from the schema. */
export function notification<P extends Schema = undefined>(row: Omit<NotificationRow<P>, "kind">): NotificationRow<P> {
  return { ...row, kind: "notification" };
}

/** A table of rows; only its own names resolve, `__proto__` and `constructor` never do. */
export function defineMethods<const M extends Methods>(rows: M): M {
  return Object.freeze(Object.assign(Object.create(null), rows));
}

/** One table from two; a row of `extension` replaces the base's row of the same name. */
export function mergeMethods<const A extends Methods, const B extends Methods>(
  base: A,
  extension: B,
): Omit<A, keyof B> & B {
  return Object.freeze(Object.assign(Object.create(null), base, extension));
}

/** Params a caller passes to a declared method. */
export type ParamsOf<Row> = Row extends { readonly params?: infer P } ? InputOf<NonNullable<P>> : unknown;

/** The result a caller receives from a declared request. */
export type ResultOf<Row> = Row extends { readonly result?: infer R } ? OutputOf<NonNullable<R>> : unknown;
