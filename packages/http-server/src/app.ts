/** REST and SSE over a session engine, as a plain hono app: listening, TLS and signals are somebody else's. */
import { Hono } from "hono";
import type { AppDeps, AppEnv } from "./deps.js";
import { errorResponse } from "./http-error.js";
import { healthRoutes } from "./routes/health.js";
import { sessionRoutes } from "./routes/sessions.js";

export function createApp(deps: AppDeps): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.route("/", healthRoutes(deps));
  app.route("/", sessionRoutes(deps));
  app.notFound((c) => c.json({ error: "not_found", path: c.req.path }, 404));
  app.onError((error, c) => errorResponse(error, c, deps.log));
  return app;
}
