/** Sends requests with a token, a time limit, and an idempotency key for prompts. Retries requests that are safe to repeat. */

import { backoff, startDeadline } from "@chimera/acp-schema/timer";
import { ClientError, errorOf } from "./error.js";
import { pause } from "./pause.js";
import type { Input, Output, RouteName, StreamName } from "./types.js";

export interface ClientOptions {
  /** The server's address, with its path if it has one: `http://127.0.0.1:5173`. */
  readonly url: string;
  /** The master token, or a session's token. A function is called before each request. */
  readonly token?: string | undefined | (() => string | undefined | Promise<string | undefined>);
  /** @defaultValue the global `fetch` */
  readonly fetch?: typeof fetch;
  readonly headers?: Readonly<Record<string, string>>;
  /** How often to repeat a request that is safe to repeat. @defaultValue 3 */
  readonly retries?: number;
  /** Milliseconds that an answer may take. Streams have no limit. @defaultValue 30000 */
  readonly timeoutMs?: number;
  /** Called before each new attempt of a request or a stream. */
  readonly onRetry?: (retry: {
    readonly attempt: number;
    readonly waitMs: number;
    readonly error: ClientError;
  }) => void;
  /** Checks every answer, for example with `validateAnswer` of `@chimera/client/validate`. @defaultValue answers are not checked */
  readonly validate?: (route: RouteName, answer: unknown) => void;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Each prompt gets a new key. Pass your own to repeat a prompt in another process. */
  readonly idempotencyKey?: string | undefined;
  readonly retries?: number | undefined;
  readonly timeoutMs?: number | undefined;
}

export type CallRoute = <N extends Exclude<RouteName, StreamName>>(
  route: N,
  input: Input<N>,
  options?: CallOptions,
) => Promise<Output<N>>;

export interface Sender {
  call: CallRoute;
  /** Opens a stream. Throws a `ClientError`. */
  open(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response>;
  /** Calls `onRetry` and waits; the delay grows with each attempt. Rejects when the signal aborts. */
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
    const waitMs = error.retryAfterMs ?? backoff(attempt, 100, 5000, Math.random());
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
      const asked = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
      const search = new URLSearchParams(asked as [string, string][]).toString();
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
        const limit = startDeadline(timeoutMs, signal);
        try {
          const response = await request(search ? `${path}?${search}` : path, { ...init, signal: limit.signal });
          const answer = await answerOf(response);
          validate?.(route, answer);
          return answer as never;
        } catch (error) {
          // With these two statuses the server has not begun, so any request may be repeated.
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

/** The routes that accept idempotency keys. */
const KEYED = /^POST .*\/(sessions?|runs|turns|message|fork|invoke)$/;

async function answerOf(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined;
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  try {
    return await (isJson ? response.json() : response.text());
  } catch (cause) {
    throw new ClientError("unreachable", "the answer broke off", { cause });
  }
}
