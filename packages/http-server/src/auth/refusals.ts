/**
 * Limits how fast one address gets refusals for a wrong token. The first ones come at once, the next at a steady rate. If too many already
 * wait, a request gets 429 at once. Requests with a valid token never come here.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Context } from "hono";
import type { AppEnv } from "../deps.js";
import { HttpError } from "../http-error.js";
import { LIMITS } from "../limits.js";

/** The error to throw: 401 after the wait, or 429. */
export type Refuse = (c: Context<AppEnv>, message: string) => Promise<HttpError>;

export function createRefuse(): Refuse {
  /** When each address gets its next refusal, in milliseconds. A time in the past is unused burst. */
  const due = new Map<string, number>();
  const interval = 1000 / LIMITS.refusalsPerSecond;
  const burst = interval * LIMITS.refusalBurst;

  return async (c, message) => {
    const address = c.env?.incoming?.socket?.remoteAddress ?? "";
    const at = performance.now();
    const mine = Math.max(due.get(address) ?? 0, at - burst) + interval;
    const wait = mine - at;
    if (wait > interval * LIMITS.refusalsWaiting) {
      c.header("Retry-After", "2");
      return new HttpError(429, "too_many_refusals", "too many requests without a valid token");
    }
    due.delete(address);
    due.set(address, mine);
    if (due.size > LIMITS.refusalAddresses) due.delete(due.keys().next().value!);
    if (wait > 0) await pause(wait);
    c.header("WWW-Authenticate", "Bearer");
    return new HttpError(401, "unauthorized", message);
  };
}
