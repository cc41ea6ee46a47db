import type { LineSubject } from "./channel.js";
import { ConnectionError, ErrorCode, isRpcError, RpcError, type RpcErrorObject } from "./errors.js";
import { encodeError, encodeResult, type NotificationFrame, type RequestFrame, type RequestId } from "./frame.js";
import { deferred, type MethodRow, type MethodSource, type RequestContext } from "./method-table.js";
import { invalidPaths, type StandardSchema } from "./standard-schema.js";

/** Turns what a handler threw into the error that the peer receives. {@link RpcError}s never pass through it. */
export type MapError = (error: unknown, context: { readonly method: string }) => RpcErrorObject;

/** What a request for a method without a row is answered with. */
export type UnknownMethod = (method: string) => RpcError;

/** The serving half of a connection: frames in, handler calls, answers out. */
export function createIncoming(options: {
  send(line: string, subject?: LineSubject): void;
  /** Requests that may be open at once. */
  readonly maxOpen: number;
  /** Faults that no frame answers: failed notifications, unknown ones, values that JSON cannot hold. */
  onError(error: unknown, context: { readonly method: string }): void;
  /** The last open request was answered. */
  onIdle(): void;
}) {
  const { send, maxOpen, onError, onIdle } = options;
  const openRequests = new Set<LazyAbort>();
  // The newest of several requests that reuse an id is the one that can be cancelled.
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

  function openRequest(frame: RequestFrame): RequestContext {
    const { id, idText, method } = frame;
    const aborting = createLazyAbort();
    openRequests.add(aborting);
    byId.set(id, aborting);

    let line: string | undefined;

    function answer(
      encode: (idText: string, value: unknown) => string,
      value: unknown,
      subject: LineSubject | undefined,
    ): void {
      if (!openRequests.delete(aborting)) return;
      if (byId.get(id) === aborting) byId.delete(id);
      // What is answered cannot be aborted. Its context may be kept for `repeat`, and would hold what the listener holds.
      aborting.listener = undefined;
      try {
        line = encode(idText, value);
      } catch (error) {
        // An answer that cannot be encoded is still an answer.
        onError(error, { method });
        line = encodeError(idText, { code: ErrorCode.internalError, message: "Internal error" });
      }
      send(line, subject);
      if (openRequests.size === 0) onIdle();
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
      if (openRequests.size >= maxOpen) return send(encodeError(frame.idText, overloadedError));
      const row = rowOf(frame.method);
      const context = openRequest(frame);
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
      for (const entry of openRequests) abort(entry, reason);
    },
    /** Requests not answered yet. */
    get open() {
      return openRequests.size;
    },
  };
}

// --- internal ---

const overloadedError: RpcErrorObject = {
  code: ErrorCode.overloaded,
  message: "Too many requests are unanswered: send it again when some of them are",
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

/** Validates and calls the handler; stays synchronous as long as schema and handler do. */
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

/** Like `await`, without the microtask when there is nothing to wait for. */
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

/** An AbortController made only when somebody looks at the signal: most requests never do, and it is not cheap. */
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

// The getter lives on a prototype: in an object literal it would cost every request a slow property definition.
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
