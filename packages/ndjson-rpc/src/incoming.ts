import { encodeError, encodeResult } from "./encode.js";
import { ErrorCode } from "./error-codes.js";
import { ConnectionError, isRpcError, RpcError, type RpcErrorObject } from "./errors.js";
import type { NotificationFrame, RequestFrame, RequestId } from "./frame.js";
import { deferred, type MethodRow, type Methods, type RequestContext } from "./method-table.js";
import { invalidPaths, type StandardSchema } from "./standard-schema.js";

/** Turns what a handler threw into what the peer is told. {@link RpcError}s never pass through it. */
export type MapError = (error: unknown, context: { readonly method: string }) => RpcErrorObject;

/** What a request for a method without a row is answered with. */
export type UnknownMethod = (method: string) => RpcError;

export interface IncomingOptions {
  send(line: string): void;
  /** Faults that have nobody to answer: failed notifications, unknown ones, values that JSON cannot hold. */
  onError(error: unknown, context: { readonly method: string }): void;
  /** The last open request was answered. */
  onIdle(): void;
}

/** The serving half of a connection: frames in, handler calls, answers out. */
export interface Incoming {
  use(methods: Methods, mapError?: MapError, unknown?: UnknownMethod): void;
  request(frame: RequestFrame): void;
  notification(frame: NotificationFrame): void;
  cancel(id: unknown): void;
  abortAll(reason: unknown): void;
  /** Requests not answered yet. */
  readonly open: number;
}

interface OpenRequest {
  abort(reason: unknown): void;
}

export function createIncoming(options: IncomingOptions): Incoming {
  const { send, onError, onIdle } = options;
  const openRequests = new Set<OpenRequest>();
  // The newest of several requests that reuse an id is the one that can be cancelled.
  const byId = new Map<RequestId, OpenRequest>();
  const closing = lazyAbort();
  let table: Methods = {};
  let mapError: MapError = internalError;
  let unknown: UnknownMethod = notFound;

  function rowOf(method: string): MethodRow | undefined {
    const row = Object.hasOwn(table, method) ? table[method] : undefined;
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
    const aborting = lazyAbort();
    const entry: OpenRequest = aborting;
    openRequests.add(entry);
    byId.set(id, entry);

    function answer(encode: () => string): void {
      if (!openRequests.delete(entry)) return;
      if (byId.get(id) === entry) byId.delete(id);
      send(encodeOrFail(encode, idText, (error) => onError(error, { method })));
      if (openRequests.size === 0) onIdle();
    }

    return {
      id,
      method,
      get signal() {
        return aborting.signal();
      },
      reply: (result) => answer(() => encodeResult(idText, result)),
      fail: (error) =>
        answer(() => {
          const cancelled = aborting.aborted() && isAbort(error, aborting.signal());
          return encodeError(idText, cancelled ? cancelledError : describe(error, method));
        }),
    };
  }

  return {
    use(methods, map = internalError, missing = notFound) {
      table = methods;
      mapError = map;
      unknown = missing;
    },
    request(frame) {
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
    notification(frame) {
      const { method } = frame;
      const row = rowOf(method);
      if (!row) {
        onError(new ConnectionError("unhandled", "No handler for this notification"), { method });
        return;
      }
      const context: RequestContext = {
        id: null,
        method,
        get signal() {
          return closing.signal();
        },
        reply: ignore,
        fail: (error) => onError(error, { method }),
      };
      run(row, frame.params, context, context.fail, ignore);
    },
    cancel(id) {
      if (typeof id === "string" || typeof id === "number") byId.get(id)?.abort(cancelledReason());
    },
    abortAll(reason) {
      closing.abort(reason);
      for (const entry of openRequests) entry.abort(reason);
    },
    get open() {
      return openRequests.size;
    },
  };
}

// --- internal ---

const cancelledError: RpcErrorObject = { code: ErrorCode.requestCancelled, message: "Request cancelled" };

function cancelledReason(): ConnectionError {
  return new ConnectionError("aborted", "The peer cancelled the request");
}

function ignore(): void {}

function notFound(method: string): RpcError {
  return new RpcError(ErrorCode.methodNotFound, "Method not found", { method });
}

function internalError(error: unknown): RpcErrorObject {
  const message = error instanceof Error ? error.message : String(error);
  return { code: ErrorCode.internalError, message: "Internal error", data: { message } };
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error instanceof Error && error.name === "AbortError");
}

/** An answer that cannot be encoded is still an answer. */
function encodeOrFail(encode: () => string, idText: string, onError: (error: unknown) => void): string {
  try {
    return encode();
  } catch (error) {
    onError(error);
    return encodeError(idText, { code: ErrorCode.internalError, message: "Internal error" });
  }
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
function lazyAbort() {
  let controller: AbortController | undefined;
  let abortedWith: { reason: unknown } | undefined;
  return {
    aborted: () => abortedWith !== undefined,
    signal(): AbortSignal {
      if (!controller) {
        controller = new AbortController();
        if (abortedWith) controller.abort(abortedWith.reason);
      }
      return controller.signal;
    },
    abort(reason: unknown): void {
      if (abortedWith) return;
      abortedWith = { reason };
      controller?.abort(reason);
    },
  };
}
