/** Liveness, open to a load balancer that holds no secret. */
import { describeProbes } from "../probes.js";
import type { Handlers, Parts } from "./route.js";

export function healthRoutes({ deps, clock }: Parts) {
  const probes = describeProbes({ version: deps.version, startedAt: deps.startedAt ?? clock() });
  return {
    "GET /health": (c) => c.json(probes["/health"]),
    "GET /healthz": (c) => c.json(probes["/healthz"]),
    "GET /ping": (c) => c.json(probes["/ping"]),
  } satisfies Handlers;
}
