/** Requests: with a token, a time limit, a key that makes a prompt safe to repeat, and retries where repeating does no harm. */

import { startTimer } from "@chimera/acp-schema/timer";
import { ClientError, errorOf } from "./error.js";
import { backoff, pause } from "./pause.js";
import type { Input, Output, RouteName, StreamName } from "./types.js";

export interface ClientOptions {
  /** Where the server is, with a path where it has one: `http://127.0.0.1:5173`. */
  readonly url: string;
  /** The master token, or that of a session; a function is asked before each request. */
  readonly token?: string | undefined | (() => string | undefined | Promise<string | undefined>);
  /** @defaultValue the global one */
  readonly fetch?: typeof fetch;
  readonly headers?: Readonly<Record<string, string>>;
  /** How often a request that may be repeated is repeated. @defaultValue 3 */
  readonly retries?: number;
  /** How long an answer may take; streams have no limit. @defaultValue 30000 */
  readonly timeoutMs?: number;
  /** Called before a request or a stream is tried again. */
  readonly onRetry?: (retry: {
    readonly attempt: number;
    readonly waitMs: number;
    readonly error: ClientError;
  }) => void;
  /** Checks every answer: `validateAnswer` of `@chimera/client/validate`. @defaultValue answers are trusted */
  readonly validate?: (route: RouteName, answer: unknown) => void;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** One is made for each prompt; name your own to repeat it in another process. */
  readonly idempotencyKey?: string;
  readonly retries?: number;
  readonly timeoutMs?: number;
}

export type CallRoute = <N extends Exclude<RouteName, StreamName>>(
  route: N,
  input: Input<N>,
  options?: CallOptions,
) => Promise<Output<N>>;

export interface Sender {
  call: CallRoute;
  /** A stream's answer. Throws a `ClientError`. */
  open(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response>;
  /** Resolves after a wait that grows with each attempt; says so first. Rejects when the signal aborts. */
  retry(attempt: number, error: ClientError, signal?: AbortSignal): Promise<void>;
}

export function createSender(options: ClientOptions): Sender {
  const { url, token, headers = {}, onRetry, validate } = options;
  const base = url.replace(/\/+$/, "");

  const request = async (path: string, init: RequestInit): Promise<Response> => {
    const bearer = typeof token === "function" ? await token() : token;
    const all = {
      prefer: "handling=strict, return=representation",
      ...headers,
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      ...(init.headers as Record<string, string>),
    };
    const response = await (options.fetch ?? fetch)(base + path, { redirect: "error", ...init, headers: all }).catch(
      (cause: Error) => {
        const { signal } = init;
        const isLate = signal?.aborted && (signal.reason as Error | undefined)?.name === "TimeoutError";
        if (signal?.aborted && !isLate) throw signal.reason;
        const why = cause.cause instanceof Error ? cause.cause.message || cause.message : cause.message;
        throw new ClientError(isLate ? "timeout" : "unreachable", `cannot reach ${base}: ${why}`, { cause });
      },
    );
    if (response.ok) return response;
    throw await errorOf(response);
  };

  const retry: Sender["retry"] = async (attempt, error, signal) => {
    const waitMs = error.retryAfterMs ?? backoff(attempt, 100);
    onRetry?.({ attempt, waitMs, error });
    await pause(waitMs, signal);
  };

  return {
    retry,
    open: (path, more, signal) => request(path, { headers: { accept: "text/event-stream", ...more }, signal }),
    async call(route, input, given = {}) {
      const [method = "", pattern = ""] = route.split(" ");
      const { body, query, ...parts } = input as Record<string, unknown>;
      const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(parts[name])));
      const search = new URLSearchParams(query as Record<string, string>).toString();
      const isKeyed = KEYED.test(route);
      const isSafe = isKeyed || method === "GET";
      const { signal, retries = options.retries ?? 3, timeoutMs = options.timeoutMs ?? 30_000 } = given;
      const init: RequestInit = {
        method,
        headers: {
          ...(body !== undefined && { "content-type": "application/json" }),
          ...(isKeyed && { "idempotency-key": given.idempotencyKey ?? crypto.randomUUID() }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      };
      for (let attempt = 0; ; attempt++) {
        const limit = limited(timeoutMs, signal);
        try {
          const response = await request(search ? `${path}?${search}` : path, { ...init, signal: limit.signal });
          const answer = await answerOf(response);
          validate?.(route, answer);
          return answer as never;
        } catch (error) {
          // Where nothing was begun, anything may be sent again.
          const isAgain =
            error instanceof ClientError && error.retryable && (isSafe || [429, 503].includes(error.status));
          if (!isAgain || attempt >= retries) throw error;
          await retry(attempt, error, signal);
        } finally {
          limit.end();
        }
      }
    },
  };
}

// --- internal ---

/** The routes whose keys the server keeps. */
const KEYED = /^POST \/(sessions(\/\{id\}\/turns)?|session\/\{id\}\/message|runs)$/;

/**
 * A signal that aborts with `outer`, and after `ms` with a `TimeoutError`. Its timer holds it: Node 20 collects what
 * `AbortSignal.any` makes of `AbortSignal.timeout` before it fires.
 */
function limited(ms: number, outer: AbortSignal | undefined) {
  const own = new AbortController();
  const timer = startTimer(ms, () => own.abort(new DOMException("the answer took too long", "TimeoutError")));
  const leave = () => own.abort(outer?.reason);
  outer?.addEventListener("abort", leave, { once: true });
  if (outer?.aborted) leave();
  const end = () => {
    timer.stop();
    outer?.removeEventListener("abort", leave);
  };
  return { signal: own.signal, end };
}

async function answerOf(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined;
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  try {
    return await (isJson ? response.json() : response.text());
  } catch (cause) {
    throw new ClientError("unreachable", "the answer broke off", { cause });
  }
}
