import type { LineSubject } from "./channel.js";
import { ConnectionError, ErrorCode, isRpcError, RpcError, type RpcErrorObject } from "./errors.js";
import { encodeError, encodeResult, type NotificationFrame, type RequestFrame, type RequestId } from "./frame.js";
import { deferred, type MethodRow, type MethodSource, type RequestContext } from "./method-table.js";
import { invalidPaths, type StandardSchema } from "./standard-schema.js";

/** Turns what a handler threw into the error that the peer receives. {@link RpcError}s never pass through it. */
export type MapError = (error: unknown, context: { readonly method: string }) => RpcErrorObject;

/** Makes the error for a request whose method has no row. */
export type UnknownMethod = (method: string) => RpcError;

/** The serving half of a connection: takes frames, calls handlers and sends their answers. */
export function createIncoming(options: {
  send(line: string, subject?: LineSubject): void;
  /** How many requests may be unanswered at once. */
  readonly maxUnanswered: number;
  /** Receives errors that no answer can carry: failed notifications, unknown ones, results that JSON cannot hold. */
  onError(error: unknown, context: { readonly method: string }): void;
  /** Called when the last unanswered request was answered. */
  onIdle(): void;
}) {
  const { send, maxUnanswered, onError, onIdle } = options;
  const unanswered = new Set<LazyAbort>();
  // If several requests use the same id, only the newest can be cancelled.
  const byId = new Map<RequestId, LazyAbort>();
  const closing = createLazyAbort();
  let table: MethodSource = {};
  let mapError: MapError = internalError;
  let unknown: UnknownMethod = notFound;

  function rowOf(method: string): MethodRow | undefined {
    const row = typeof table === "function" ? table(method) : Object.hasOwn(table, method) ? table[method] : undefined;
    return row?.handle ? row : undefined;
  }

  function describe(error: unknown, method: string): RpcErrorObject {
    if (isRpcError(error)) return error;
    try {
      return mapError(error, { method });
    } catch (cause) {
      onError(cause, { method });
      return internalError(error);
    }
  }

  function accept(frame: RequestFrame): RequestContext {
    const { id, idText, method } = frame;
    const aborting = createLazyAbort();
    unanswered.add(aborting);
    byId.set(id, aborting);

    let line: string | undefined;

    function answer(
      encode: (idText: string, value: unknown) => string,
      value: unknown,
      subject: LineSubject | undefined,
    ): void {
      if (!unanswered.delete(aborting)) return;
      if (byId.get(id) === aborting) byId.delete(id);
      // An answered request cannot be aborted. A caller may keep its context for `repeat`, so drop the listener and all it refers to.
      aborting.listener = undefined;
      try {
        line = encode(idText, value);
      } catch (error) {
        // The peer must get an answer even if the result cannot be encoded.
        onError(error, { method });
        line = encodeError(idText, { code: ErrorCode.internalError, message: "Internal error" });
      }
      send(line, subject);
      if (unanswered.size === 0) onIdle();
    }

    function encodeFailure(idText: string, error: unknown): string {
      return encodeError(idText, isAbort(error, aborting) ? cancelledError : describe(error, method));
    }

    return createContext(
      id,
      method,
      aborting,
      (result, subject) => answer(encodeResult, result, subject),
      (error, subject) => answer(encodeFailure, error, subject),
      (subject) => line !== undefined && send(line, subject),
    );
  }

  return {
    use(methods: MethodSource, map: MapError = internalError, missing: UnknownMethod = notFound) {
      table = methods;
      mapError = map;
      unknown = missing;
    },
    request(frame: RequestFrame) {
      if (unanswered.size >= maxUnanswered) return send(encodeError(frame.idText, overloadedError));
      const row = rowOf(frame.method);
      const context = accept(frame);
      if (!row) {
        context.fail(unknown(frame.method));
        return;
      }
      run(row, frame.params, context, context.fail, (result) => {
        if (result !== deferred) context.reply(result);
      });
    },
    notification(frame: NotificationFrame) {
      const { method } = frame;
      const row = rowOf(method);
      if (!row) {
        onError(new ConnectionError("unhandled", "No handler for this notification"), { method });
        return;
      }
      const context = createContext(null, method, closing, ignore, (error) => onError(error, { method }), ignore);
      run(row, frame.params, context, context.fail, ignore);
    },
    cancel(id: unknown) {
      if (typeof id !== "string" && typeof id !== "number") return;
      abort(byId.get(id), new ConnectionError("aborted", "The peer cancelled the request"));
    },
    abortAll(reason: unknown) {
      abort(closing, reason);
      for (const entry of unanswered) abort(entry, reason);
    },
    /** How many requests are not answered yet. */
    get unanswered() {
      return unanswered.size;
    },
  };
}

// --- internal ---

const overloadedError: RpcErrorObject = {
  code: ErrorCode.overloaded,
  message: "Too many requests are unanswered; send this one again later",
  data: { code: "overloaded", retryable: true },
};
const cancelledError: RpcErrorObject = { code: ErrorCode.requestCancelled, message: "Request cancelled" };

function ignore(): void {}

function notFound(method: string): RpcError {
  return new RpcError(ErrorCode.methodNotFound, "Method not found", { method });
}

function internalError(error: unknown): RpcErrorObject {
  const message = error instanceof Error ? error.message : String(error);
  return { code: ErrorCode.internalError, message: "Internal error", data: { message } };
}

/** Validates the params and calls the handler. Synchronous if the schema and the handler are. */
function run(
  row: MethodRow,
  params: unknown,
  context: RequestContext,
  fail: (error: unknown) => void,
  done: (result: unknown) => void,
): void {
  try {
    after(validated(row.params, params), (value) => after(row.handle?.(value, context), done, fail), fail);
  } catch (error) {
    fail(error);
  }
}

/** Like `await`, without the microtask when the value is not a promise. */
function after<T>(value: T | PromiseLike<T>, next: (value: T) => void, fail: (error: unknown) => void): void {
  if (isThenable(value)) Promise.resolve(value).then(next).catch(fail);
  else next(value);
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function validated(schema: StandardSchema | undefined, params: unknown): unknown {
  const given = params ?? {};
  if (typeof given !== "object") throw invalidParams([{ path: "", message: "params must be an object or an array" }]);
  if (!schema) return given;
  const outcome = schema["~standard"].validate(given);
  return isThenable(outcome) ? Promise.resolve(outcome).then(valueOrThrow) : valueOrThrow(outcome);
}

function valueOrThrow(outcome: Awaited<ReturnType<StandardSchema["~standard"]["validate"]>>): unknown {
  if (outcome.issues) throw invalidParams(invalidPaths(outcome.issues));
  return outcome.value;
}

function invalidParams(issues: ReturnType<typeof invalidPaths>): RpcError {
  const first = issues[0];
  const where = first ? `: ${first.path === "" ? "params" : first.path}: ${first.message}` : "";
  return new RpcError(ErrorCode.invalidParams, `Invalid params${where}`, { issues });
}

/** Makes the AbortController only when a handler reads the signal: most never do, and the controller is not cheap. */
interface LazyAbort {
  controller: AbortController | undefined;
  listener: ((reason: unknown) => void) | undefined;
  aborted: boolean;
  reason: unknown;
}

function createLazyAbort(): LazyAbort {
  return { controller: undefined, listener: undefined, aborted: false, reason: undefined };
}

function abort(target: LazyAbort | undefined, reason: unknown): void {
  if (!target || target.aborted) return;
  target.aborted = true;
  target.reason = reason;
  target.controller?.abort(reason);
  target.listener?.(reason);
}

function signalOf(target: LazyAbort): AbortSignal {
  if (!target.controller) {
    target.controller = new AbortController();
    if (target.aborted) target.controller.abort(target.reason);
  }
  return target.controller.signal;
}

function isAbort(error: unknown, { aborted, reason }: LazyAbort): boolean {
  return aborted && (error === reason || (error instanceof Error && error.name === "AbortError"));
}

// The getter is on a prototype, because in an object literal it would cost every request a slow property definition.
const contextPrototype = {
  get signal(): AbortSignal {
    return signalOf((this as unknown as { aborting: LazyAbort }).aborting);
  },
  onAbort(listener: (reason: unknown) => void): void {
    const { aborting } = this as unknown as { aborting: LazyAbort };
    aborting.listener = listener;
    if (aborting.aborted) listener(aborting.reason);
  },
};

function createContext(
  id: RequestId,
  method: string,
  aborting: LazyAbort,
  reply: (result: unknown, subject?: LineSubject) => void,
  fail: (error: unknown, subject?: LineSubject) => void,
  repeat: (subject?: LineSubject) => void,
): RequestContext {
  return { __proto__: contextPrototype, id, method, aborting, reply, fail, repeat } as unknown as RequestContext;
}
