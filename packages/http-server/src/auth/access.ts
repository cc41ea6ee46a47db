/** Who may call what: one row per route. A route without a row does not compile, and would be the master's alone. */
import type { routes } from "@chimera/acp-schema/http";

export type RouteName = keyof typeof routes;

/**
 * open: anybody. session: the master, or the token of the session in the path. admin: the master; that session's own token
 * is told so (403). master: the master, everybody else is a stranger (401).
 */
export type Tier = "open" | "session" | "admin" | "master";

export const ACCESS: Readonly<Record<RouteName, Tier>> = {
  "GET /health": "open",
  "GET /healthz": "open",
  "GET /ping": "open",
  "GET /info": "master",
  "GET /providers": "master",
  "GET /tools": "master",
  "GET /openapi.json": "master",

  "GET /sessions": "master",
  "POST /sessions": "master",
  "GET /sessions/{id}": "session",
  "DELETE /sessions/{id}": "session",
  "POST /sessions/{id}/turns": "session",
  "POST /sessions/{id}/cancel": "session",
  "GET /sessions/{id}/events": "session",
  "POST /sessions/{id}/permissions/{pid}": "session",
  "POST /sessions/{id}/undo": "session",
  "POST /sessions/{id}/redo": "session",
  "POST /sessions/{id}/title": "session",
  "GET /sessions/{id}/snapshots": "session",
  "GET /sessions/{id}/snapshots/{snap}/diff": "session",
  "GET /sessions/{id}/transcript": "session",
  "POST /sessions/{id}/share": "admin",
  "POST /sessions/{id}/fork": "admin",
  "POST /sessions/{id}/rotate-token": "admin",

  "GET /session": "master",
  "POST /session": "master",
  "GET /session/{id}": "session",
  "DELETE /session/{id}": "session",
  "POST /session/{id}/message": "session",
  "POST /session/{id}/cancel": "session",
  "GET /session/{id}/events": "session",
  "POST /session/{id}/rotate-token": "admin",
  "POST /tool/approve": "master",

  "GET /commands": "master",
  "POST /commands/{name}/invoke": "master",

  "GET /runs": "master",
  "GET /runs/cost": "master",
  "POST /runs": "master",
  "GET /runs/{run_id}": "master",
  "POST /runs/{run_id}/cancel": "master",
  "GET /runs/{run_id}/events": "master",
  "GET /agents": "master",
  "GET /agents/{name}": "master",
};
