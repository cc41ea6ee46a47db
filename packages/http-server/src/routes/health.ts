/** Liveness, open to a load balancer that holds no secret. */
import { Hono } from "hono";
import type { AppDeps, AppEnv } from "../deps.js";

export function healthRoutes(deps: AppDeps): Hono<AppEnv> {
  const startedAt = `${new Date((deps.clock ?? Date.now)()).toISOString().slice(0, 19)}Z`;
  return new Hono<AppEnv>()
    .get("/health", (c) => c.json({ status: "ok", version: deps.version, started_at: startedAt }))
    .get("/healthz", (c) => c.json({ status: "ok" }));
}
