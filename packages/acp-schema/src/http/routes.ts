/** One row per route: drives validation, documentation and tests. A row without a `reply` answers with no JSON. */
import type * as v from "valibot";
import { CommandsReply, InvokeCommandBody, InvokeCommandReply } from "./command.js";
import { RunsCostReply, RunsQuery, RunsReply } from "./report.js";
import { AgentManifest, AgentsReply, CreateRunBody, Run, RunEventsReply } from "./run.js";
import { AliveReply, HealthReply, InfoReply, ProvidersReply, ToolsReply } from "./server.js";
import * as session from "./session.js";

export interface Route {
  /** The status of success. */
  readonly status: number;
  readonly query?: v.GenericSchema;
  readonly body?: v.GenericSchema;
  readonly reply?: v.GenericSchema;
  /** Answers with server-sent events. */
  readonly stream?: true;
}

/** `METHOD /path` -> its bodies. */
export const routes = {
  "GET /health": { status: 200, reply: HealthReply },
  "GET /healthz": { status: 200, reply: AliveReply },
  "GET /ping": { status: 200, reply: AliveReply },
  "GET /info": { status: 200, reply: InfoReply },
  "GET /providers": { status: 200, reply: ProvidersReply },
  "GET /tools": { status: 200, reply: ToolsReply },
  "GET /openapi.json": { status: 200 },

  "GET /sessions": { status: 200, query: session.ListSessionsQuery, reply: session.ListSessionsReply },
  "POST /sessions": { status: 201, body: session.CreateRunningSessionBody, reply: session.CreateRunningSessionReply },
  "GET /sessions/{id}": { status: 200, reply: session.SessionDetail },
  "DELETE /sessions/{id}": { status: 204 },
  "POST /sessions/{id}/turns": { status: 202, body: session.TurnBody, reply: session.TurnReply },
  "POST /sessions/{id}/cancel": { status: 204 },
  "GET /sessions/{id}/events": { status: 200, stream: true },
  "POST /sessions/{id}/permissions/{pid}": {
    status: 200,
    body: session.PermissionBody,
    reply: session.PermissionReply,
  },
  "POST /sessions/{id}/undo": { status: 200, body: session.RewindBody, reply: session.RewindReply },
  "POST /sessions/{id}/redo": { status: 200, body: session.RewindBody, reply: session.RewindReply },
  "POST /sessions/{id}/title": { status: 200, body: session.TitleBody, reply: session.TitleReply },
  "GET /sessions/{id}/snapshots": { status: 200, reply: session.SnapshotsReply },
  "GET /sessions/{id}/snapshots/{snap}/diff": { status: 200, reply: session.SnapshotDiffReply },
  "GET /sessions/{id}/transcript": { status: 200, query: session.TranscriptQuery },
  "POST /sessions/{id}/share": { status: 200, body: session.ShareBody, reply: session.ShareReply },
  "POST /sessions/{id}/fork": { status: 201, body: session.ForkBody, reply: session.ForkReply },
  "POST /sessions/{id}/rotate-token": { status: 200, reply: session.RotateTokenReply },

  "GET /session": { status: 200, reply: session.LiveSessionsReply },
  "POST /session": { status: 201, body: session.CreateSessionBody, reply: session.CreateSessionReply },
  "GET /session/{id}": { status: 200, reply: session.SessionSnapshot },
  "DELETE /session/{id}": { status: 204 },
  "POST /session/{id}/message": { status: 202, body: session.MessageBody, reply: session.MessageReply },
  "POST /session/{id}/cancel": { status: 204 },
  "GET /session/{id}/events": { status: 200, stream: true },
  "POST /session/{id}/rotate-token": { status: 200, reply: session.RotateTokenReply },
  "POST /tool/approve": { status: 200, body: session.ToolApproveBody, reply: session.ToolApproveReply },

  "GET /commands": { status: 200, reply: CommandsReply },
  "POST /commands/{name}/invoke": { status: 202, body: InvokeCommandBody, reply: InvokeCommandReply },

  "GET /runs": { status: 200, query: RunsQuery, reply: RunsReply },
  "GET /runs/cost": { status: 200, query: RunsQuery, reply: RunsCostReply },
  "POST /runs": { status: 200, body: CreateRunBody, reply: Run },
  "GET /runs/{run_id}": { status: 200, reply: Run },
  "POST /runs/{run_id}/cancel": { status: 200, reply: Run },
  "GET /runs/{run_id}/events": { status: 200, reply: RunEventsReply },
  "GET /agents": { status: 200, reply: AgentsReply },
  "GET /agents/{name}": { status: 200, reply: AgentManifest },
} as const satisfies Record<string, Route>;
