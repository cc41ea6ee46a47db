/** Liveness, open to a load balancer that holds no secret. */
import type { HealthReply } from "@chimera/acp-schema/http";
import { isoSeconds } from "@chimera/session";
import type { Handlers, Parts } from "./route.js";

export function healthRoutes({ deps, clock }: Parts) {
  const health: HealthReply = { status: "ok", version: deps.version, started_at: isoSeconds(clock()) };
  return {
    "GET /health": (c) => c.json(health),
    "GET /healthz": (c) => c.json({ status: "ok" }),
    "GET /ping": (c) => c.json({ status: "ok" }),
  } satisfies Handlers;
}
