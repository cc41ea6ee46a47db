/** What liveness probes are told: one table for the app and for the moment before it is loaded. */
import type { AliveReply, HealthReply } from "@chimera/acp-schema/http";

export const PROBES = ["/health", "/healthz", "/ping"] as const;

export type Probes = Readonly<Record<(typeof PROBES)[number], HealthReply | AliveReply>>;

export function describeProbes(program: { readonly version: string; readonly startedAt: number }): Probes {
  const started_at = `${new Date(program.startedAt).toISOString().slice(0, 19)}Z`;
  return {
    "/health": { status: "ok", version: program.version, started_at },
    "/healthz": { status: "ok" },
    "/ping": { status: "ok" },
  };
}
