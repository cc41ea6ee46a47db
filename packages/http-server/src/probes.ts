/** The health routes, which need no token. One table serves the app and the time before it is loaded. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AliveReply, ErrorReply, HealthReply, ReadyReply } from "@chimera/acp-schema/http";
import { LIMITS } from "./limits.js";
import { headersFor } from "./outside-app.js";
import type { Handlers, RouteDeps } from "./routes/route.js";

export function healthRoutes({ deps, clock }: RouteDeps) {
  const probes = describeProbes({ version: deps.version, startedAt: deps.startedAt ?? clock() });
  return {
    "GET /health": (c) => c.json(probes["/health"]),
    "GET /healthz": (c) => c.json(probes["/healthz"]),
    "GET /ping": (c) => c.json(probes["/ping"]),
    "GET /readyz": (c) =>
      deps.sessions.isDraining()
        ? c.json(notReady("draining", c.get("requestId")), 503, AGAIN)
        : c.json(probes["/readyz"]),
  } satisfies Handlers;
}

/** Answers probes before the app is loaded. True if it answered the request; any other request waits for the app. */
export type Early = (incoming: IncomingMessage, outgoing: ServerResponse) => boolean;

/**
 * Answers the health routes from the moment the port is bound, before the app is loaded.
 *
 * @example
 * const early = createEarly({ version: "1.0.0", startedAt: Date.now() });
 * await listen(async () => loadApp(), { port: 5173, early });
 */
export function createEarly(program: { readonly version: string; readonly startedAt: number }): Early {
  const probes = describeProbes(program);
  return ({ method, url = "", headers }, outgoing) => {
    const path = PROBES.find((probe) => url === probe || url.startsWith(`${probe}?`));
    if (method !== "GET" || !path || headers.origin !== undefined) return false;
    const isStarting = path === "/readyz";
    const all = headersFor({ headers });
    outgoing.writeHead(isStarting ? 503 : 200, { ...all, ...(isStarting && AGAIN) });
    outgoing.end(JSON.stringify(isStarting ? notReady("starting", all["X-Request-Id"]) : probes[path]));
    return true;
  };
}

/** True for the path of a probe, which reveals only whether the server runs. A balancer may ask for it under any Host. */
export function isProbe(path: string): boolean {
  return PROBES.some((probe) => probe === path);
}

// --- internal ---

const PROBES = ["/health", "/healthz", "/ping", "/readyz"] as const;

const AGAIN = { "Retry-After": String(LIMITS.retryAfterSeconds) };

/** The answer of a server that takes no new turns, in the form of every failure. */
function notReady(status: "starting" | "draining", request_id: string): ReadyReply & ErrorReply {
  return { status, error: status, message: `the server is ${status}: it takes no new turns`, request_id };
}

type Probes = Readonly<Record<(typeof PROBES)[number], HealthReply | AliveReply | ReadyReply>>;

function describeProbes(program: { readonly version: string; readonly startedAt: number }): Probes {
  const started_at = `${new Date(program.startedAt).toISOString().slice(0, 19)}Z`;
  return {
    "/health": { status: "ok", version: program.version, started_at },
    "/healthz": { status: "ok" },
    "/ping": { status: "ok" },
    "/readyz": { status: "ready" },
  };
}
