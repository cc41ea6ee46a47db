import { ConnectionError, RpcError } from "./errors.js";
import type { ResponseFrame } from "./frame.js";

interface Call {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** Tracks the requests that this side sent and the peer has not answered. */
export function createCalls() {
  const calls = new Map<unknown, Call>();
  let lastId = 0;

  function take(id: unknown): Call | undefined {
    const call = calls.get(id);
    calls.delete(id);
    return call;
  }

  return {
    open(signal: AbortSignal | undefined, onAbort: (id: number) => void) {
      const id = ++lastId;
      const answer = new Promise<unknown>((resolve, reject) => {
        if (!signal) {
          calls.set(id, { resolve, reject });
          return;
        }
        const abort = () => {
          take(id)?.reject(new ConnectionError("aborted", "The request was aborted", { cause: signal.reason }));
          onAbort(id);
        };
        const detach = () => signal.removeEventListener("abort", abort);
        calls.set(id, {
          resolve: (result) => {
            detach();
            resolve(result);
          },
          reject: (error) => {
            detach();
            reject(error);
          },
        });
        signal.addEventListener("abort", abort, { once: true });
      });
      return { id, answer };
    },
    /** Gives an answer to its call. An answer without a waiting call is ignored. */
    settle(frame: ResponseFrame) {
      const call = take(frame.id);
      if (frame.error === undefined) call?.resolve(frame.result);
      else call?.reject(toRpcError(frame.error));
    },
    /** Rejects a call that could not be sent. */
    drop(id: number, error: Error) {
      take(id)?.reject(error);
    },
    rejectAll(error: Error) {
      for (const call of calls.values()) call.reject(error);
      calls.clear();
    },
  };
}

// --- internal ---

/** The peer's error may be any JSON value. */
function toRpcError(error: unknown): RpcError {
  const { code, message, data } = Object(error) as { code?: unknown; message?: unknown; data?: unknown };
  return new RpcError(
    typeof code === "number" ? code : 0,
    typeof message === "string" ? message : "The peer answered with a malformed error",
    data,
  );
}
