/** What every request passes before its token is looked at: Host, Origin, preflight; and the headers every answer carries. */
import type { Context, MiddlewareHandler } from "hono";
import type { AppEnv } from "../deps.js";
import { HttpError } from "../errors.js";
import { allowedOrigin, SECURITY_HEADERS } from "./headers.js";
import { createHostCheck } from "./host.js";

const EVERY_ANSWER = { ...SECURITY_HEADERS, "Cache-Control": "no-store" } as const;

const PREFLIGHT = {
  "Access-Control-Allow-Methods": "GET, POST, DELETE",
  "Access-Control-Allow-Headers": "Authorization, Content-Type, Last-Event-ID",
  "Access-Control-Max-Age": "600",
} as const;

export function guard(options: {
  readonly cors: readonly string[];
  readonly hosts: readonly string[];
}): MiddlewareHandler<AppEnv> {
  const hostAllowed = createHostCheck(options.hosts);
  const origins = new Set(options.cors);

  return async (c, next) => {
    setAll(c, EVERY_ANSWER);
    if (!hostAllowed(c.req.header("host"))) throw new HttpError(403, "bad_host", "this Host is not served here");
    const origin = c.req.header("origin");
    if (origin !== undefined) {
      if (!origins.has(origin)) throw new HttpError(403, "bad_origin", "this Origin may not call; see --cors");
      setAll(c, allowedOrigin(origin));
      if (c.req.method === "OPTIONS") {
        setAll(c, PREFLIGHT);
        return c.body(null, 204);
      }
    }
    await next();
  };
}

// --- internal ---

/** Under Node straight on its response: headers kept by the context are collected and copied twice on their way there. */
function setAll(c: Context<AppEnv>, headers: Readonly<Record<string, string>>): void {
  const outgoing = c.env?.outgoing;
  for (const [name, value] of Object.entries(headers)) {
    if (outgoing) outgoing.setHeader(name, value);
    else c.header(name, value);
  }
}
