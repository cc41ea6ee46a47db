/** Checks Host and Origin of every request before its token, answers preflights, and sets the headers of every answer. */
import type { Context, MiddlewareHandler } from "hono";
import type { AppEnv } from "../deps.js";
import { HttpError } from "../http-error.js";
import { isProbe } from "../probes.js";
import { requestIdOf } from "../request/request-id.js";
import { allowedOrigin, EVERY_ANSWER } from "./headers.js";

const PREFLIGHT = {
  "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE",
  "Access-Control-Allow-Headers":
    "Acp-Connection-Id, Acp-Session-Id, Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Prefer, X-Request-Id",
  "Access-Control-Max-Age": "600",
} as const;

export function guard(options: {
  readonly cors: readonly string[];
  readonly hosts: readonly string[];
  /** Whether this server serves a page. The page may call: the Host of its origin has passed the check. */
  readonly isOwnOriginServed: boolean;
}): MiddlewareHandler<AppEnv> {
  const hostAllowed = createHostCheck(options.hosts);
  const origins = new Set(options.cors);

  return async (c, next) => {
    const requestId = requestIdOf(c.req.header("x-request-id"));
    c.set("requestId", requestId);
    setAll(c, { ...EVERY_ANSWER, "X-Request-Id": requestId });
    const named = hostInTarget(c);
    const isServed = hostAllowed(c.req.header("host") ?? authorityOf(c)) && (named === null || hostAllowed(named));
    if (!isServed && !((c.req.method === "GET" || c.req.method === "HEAD") && isProbe(c.req.path))) {
      throw new HttpError(403, "bad_host", "this Host is not served here");
    }
    if (DOTS.test(c.env?.incoming?.url ?? "")) throw new HttpError(400, "bad_request", "the path has dots as a step");
    const origin = c.req.header("origin");
    if (origin === undefined) {
      if (isForeignPart(c)) throw new HttpError(403, "bad_origin", "a page of another origin may not load this");
    } else {
      const isListed = origins.has(origin);
      if (!isListed && !(options.isOwnOriginServed && isOwnOrigin(c, origin))) {
        throw new HttpError(403, "bad_origin", "this Origin may not call; see --cors");
      }
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

/** The host of a request of HTTP/2, which has no `Host` header. */
function authorityOf(c: Context<AppEnv>): string | undefined {
  return (c.env?.incoming as { authority?: string } | undefined)?.authority;
}

/** The host in the target of a request, if it has one there. By the rules of HTTP it overrides the `Host` header. */
function hostInTarget(c: Context<AppEnv>): string | null {
  const target = c.env?.incoming?.url ?? "/";
  return target.startsWith("/") ? null : new URL(c.req.url).host;
}

/** Whether this server served the page that calls: its origin has the scheme and host of this request, and the host has passed the check. */
function isOwnOrigin(c: Context<AppEnv>, origin: string): boolean {
  const site = c.req.header("sec-fetch-site");
  return origin === new URL(c.req.url).origin && (site === undefined || site === "same-origin");
}

/**
 * Whether a page of another site loads this as one of its parts (an image, a script). Such requests have no Origin, and the page could learn
 * something from their time or failure. A followed link is not a part.
 */
function isForeignPart(c: Context<AppEnv>): boolean {
  const site = c.req.header("sec-fetch-site");
  return (site === "cross-site" || site === "same-site") && c.req.header("sec-fetch-mode") !== "navigate";
}

/** Sets headers, under Node straight on its response: headers that the context keeps are copied twice before they get there. */
function setAll(c: Context<AppEnv>, headers: Readonly<Record<string, string>>): void {
  const outgoing = c.env?.outgoing;
  for (const [name, value] of Object.entries(headers)) {
    if (outgoing) outgoing.setHeader(name, value);
    else c.header(name, value);
  }
}

/**
 * A step of a path that leads nowhere or up. Clients take it out before they send; here it would be another path than the one that was
 * sent, as `/` is for `/sessions/..`.
 */
const DOTS = /^[^?#]*[/\\](?:\.|%2e){1,2}(?:[/\\?#]|$)/i;

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];
const HOST = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

/**
 * The list of allowed hosts. It stops a web page whose own domain name points at loopback. Names are compared without port and case.
 * A header that is not a plain host name is refused.
 */
function createHostCheck(further: readonly string[]): (header: string | undefined) => boolean {
  const allowed = new Set([...LOOPBACK, ...further.map(canonical)]);
  return (header) => {
    const name = HOST.exec(header?.toLowerCase() ?? "")?.[1];
    return name !== undefined && allowed.has(name);
  };
}

function canonical(host: string): string {
  const name = host.toLowerCase();
  return name.includes(":") && !name.startsWith("[") ? `[${name}]` : name;
}
