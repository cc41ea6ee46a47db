/** One row per route: drives validation, documentation and tests. A row without a `reply` answers with no JSON. */
import type * as v from "valibot";
import { CommandsReply, InvokeCommandBody, InvokeCommandReply } from "./command.js";
import { RunsCostReply, RunsQuery, RunsReply } from "./report.js";
import { AgentManifest, AgentsReply, CreateRunBody, Run, RunEventsReply } from "./run.js";
import { AliveReply, HealthReply, InfoReply, ProvidersReply, ToolsReply } from "./server.js";
import {
  CreateRunningSessionBody,
  CreateRunningSessionReply,
  CreateSessionBody,
  CreateSessionReply,
  ForkBody,
  ForkReply,
  ListSessionsQuery,
  ListSessionsReply,
  LiveSessionsReply,
  MessageBody,
  MessageReply,
  PermissionBody,
  PermissionReply,
  RewindBody,
  RewindReply,
  RotateTokenReply,
  SessionDetail,
  SessionSnapshot,
  ShareBody,
  ShareReply,
  SnapshotDiffReply,
  SnapshotsReply,
  TitleBody,
  TitleReply,
  ToolApproveBody,
  ToolApproveReply,
  TranscriptQuery,
  TurnBody,
  TurnReply,
} from "./session.js";

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

  "GET /sessions": { status: 200, query: ListSessionsQuery, reply: ListSessionsReply },
  "POST /sessions": { status: 201, body: CreateRunningSessionBody, reply: CreateRunningSessionReply },
  "GET /sessions/{id}": { status: 200, reply: SessionDetail },
  "DELETE /sessions/{id}": { status: 204 },
  "POST /sessions/{id}/turns": { status: 202, body: TurnBody, reply: TurnReply },
  "POST /sessions/{id}/cancel": { status: 204 },
  "GET /sessions/{id}/events": { status: 200, stream: true },
  "POST /sessions/{id}/permissions/{pid}": { status: 200, body: PermissionBody, reply: PermissionReply },
  "POST /sessions/{id}/undo": { status: 200, body: RewindBody, reply: RewindReply },
  "POST /sessions/{id}/redo": { status: 200, body: RewindBody, reply: RewindReply },
  "POST /sessions/{id}/title": { status: 200, body: TitleBody, reply: TitleReply },
  "GET /sessions/{id}/snapshots": { status: 200, reply: SnapshotsReply },
  "GET /sessions/{id}/snapshots/{snap}/diff": { status: 200, reply: SnapshotDiffReply },
  "GET /sessions/{id}/transcript": { status: 200, query: TranscriptQuery },
  "POST /sessions/{id}/share": { status: 200, body: ShareBody, reply: ShareReply },
  "POST /sessions/{id}/fork": { status: 201, body: ForkBody, reply: ForkReply },
  "POST /sessions/{id}/rotate-token": { status: 200, reply: RotateTokenReply },

  "GET /session": { status: 200, reply: LiveSessionsReply },
  "POST /session": { status: 201, body: CreateSessionBody, reply: CreateSessionReply },
  "GET /session/{id}": { status: 200, reply: SessionSnapshot },
  "DELETE /session/{id}": { status: 204 },
  "POST /session/{id}/message": { status: 202, body: MessageBody, reply: MessageReply },
  "POST /session/{id}/cancel": { status: 204 },
  "GET /session/{id}/events": { status: 200, stream: true },
  "POST /session/{id}/rotate-token": { status: 200, reply: RotateTokenReply },
  "POST /tool/approve": { status: 200, body: ToolApproveBody, reply: ToolApproveReply },

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
