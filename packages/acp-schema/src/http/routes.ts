/** One row per route, from which access, validation, documentation and tests follow. A row without `reply` does not answer with JSON. */
import type * as v from "valibot";
import { CommandsReply, InvokeCommandBody, InvokeCommandReply, SessionCommandsReply } from "./command.js";
import * as inspect from "./inspect.js";
import * as page from "./page.js";
import { RunsCostReply, RunsQuery, RunsReply } from "./report.js";
import { AgentManifest, AgentsReply, CreateRunBody, Run, RunEventsReply } from "./run.js";
import { AliveReply, EnginesReply, HealthReply, InfoReply, ProvidersReply, ReadyReply, ToolsReply } from "./server.js";
import * as session from "./session.js";
import { ModelsReply, SettingsBody, SettingsReply } from "./settings.js";
import { AcpMessage, ManyQuery, StreamQuery } from "./stream.js";
import * as turn from "./turn.js";

/**
 * Who may call a route. open: anyone. person: the master token, a named person, or a page that signed in. session: these, or the token of
 * the session in the path. admin: a person who may change the session; the session's own token gets 403. master: the master token, or a
 * person with the role admin; others get 403. any: the master token, a person, or the token of any session, which then reaches only that
 * session. All others get 401. A person's role decides what they may see and change.
 */
export type Tier = "open" | "session" | "admin" | "person" | "master" | "any";

export interface Route {
  readonly tier: Tier;
  /** The status of success. */
  readonly status: number;
  readonly query?: v.GenericSchema;
  readonly body?: v.GenericSchema;
  readonly reply?: v.GenericSchema;
  /** The route answers with server-sent events. */
  readonly stream?: true;
}

export type RouteName = keyof typeof routes;

/** By `METHOD /path`: who may call the route, and its bodies. */
export const routes = {
  "GET /health": { tier: "open", status: 200, reply: HealthReply },
  "GET /healthz": { tier: "open", status: 200, reply: AliveReply },
  "GET /ping": { tier: "open", status: 200, reply: AliveReply },
  "GET /readyz": { tier: "open", status: 200, reply: ReadyReply },
  "GET /info": { tier: "person", status: 200, reply: InfoReply },
  "GET /providers": { tier: "person", status: 200, reply: ProvidersReply },
  "GET /models": { tier: "person", status: 200, reply: ModelsReply },
  "GET /engines": { tier: "person", status: 200, reply: EnginesReply },
  "GET /tools": { tier: "person", status: 200, reply: ToolsReply },
  "GET /openapi.json": { tier: "person", status: 200 },
  "GET /events": { tier: "person", status: 200, query: ManyQuery, stream: true },
  "GET /search": { tier: "person", status: 200, query: inspect.SearchQuery, reply: inspect.SearchReply },

  "GET /metrics": { tier: "master", status: 200 },
  "GET /me": { tier: "person", status: 200, reply: page.MeReply },
  "POST /page/codes": { tier: "person", status: 201, reply: page.PageCodeReply },
  "POST /page/tokens": { tier: "open", status: 201, body: page.PageTokenBody, reply: page.PageTokenReply },
  "GET /page/tokens": { tier: "person", status: 200, reply: page.PageTokensReply },
  "DELETE /page/tokens/{token_id}": { tier: "person", status: 204 },

  "GET /sessions": { tier: "person", status: 200, query: session.ListSessionsQuery, reply: session.ListSessionsReply },
  "POST /sessions": {
    tier: "person",
    status: 201,
    body: session.CreateRunningSessionBody,
    reply: session.CreateRunningSessionReply,
  },
  "GET /sessions/{id}": { tier: "session", status: 200, reply: session.SessionDetail },
  "PATCH /sessions/{id}": { tier: "session", status: 200, body: SettingsBody, reply: SettingsReply },
  "DELETE /sessions/{id}": {
    tier: "session",
    status: 204,
    query: session.DeleteSessionQuery,
    reply: session.DeleteSessionReply,
  },
  "GET /sessions/{id}/settings": { tier: "session", status: 200, reply: SettingsReply },
  "GET /sessions/{id}/clients": { tier: "session", status: 200, reply: inspect.ClientsReply },
  "GET /sessions/{id}/commands": { tier: "session", status: 200, reply: SessionCommandsReply },
  "GET /sessions/{id}/files": { tier: "admin", status: 200, query: inspect.FilesQuery, reply: inspect.FilesReply },
  "GET /sessions/{id}/changes": {
    tier: "session",
    status: 200,
    query: inspect.ChangesQuery,
    reply: inspect.ChangesReply,
  },
  "POST /sessions/{id}/turns": { tier: "session", status: 202, body: turn.TurnBody, reply: turn.TurnReply },
  "POST /sessions/{id}/cancel": { tier: "session", status: 204 },
  "GET /sessions/{id}/events": { tier: "session", status: 200, query: StreamQuery, stream: true },
  "GET /sessions/{id}/permissions": { tier: "session", status: 200, reply: turn.PermissionsReply },
  "POST /sessions/{id}/permissions/{pid}": {
    tier: "session",
    status: 200,
    body: turn.PermissionBody,
    reply: turn.PermissionReply,
  },
  "GET /sessions/{id}/questions": { tier: "session", status: 200, reply: turn.QuestionsReply },
  "POST /sessions/{id}/questions/{qid}": {
    tier: "session",
    status: 200,
    body: turn.QuestionBody,
    reply: turn.QuestionReply,
  },
  "POST /sessions/{id}/undo": { tier: "session", status: 200, body: turn.RewindBody, reply: turn.RewindReply },
  "POST /sessions/{id}/redo": { tier: "session", status: 200, body: turn.RewindBody, reply: turn.RewindReply },
  "POST /sessions/{id}/title": { tier: "session", status: 200, body: session.TitleBody, reply: session.TitleReply },
  "GET /sessions/{id}/snapshots": { tier: "session", status: 200, reply: turn.SnapshotsReply },
  "GET /sessions/{id}/snapshots/{snap}/diff": { tier: "session", status: 200, reply: turn.SnapshotDiffReply },
  "GET /sessions/{id}/transcript": { tier: "session", status: 200, query: session.TranscriptQuery },
  "POST /sessions/{id}/share": { tier: "admin", status: 200, body: session.ShareBody, reply: session.ShareReply },
  "POST /sessions/{id}/fork": { tier: "admin", status: 201, body: session.ForkBody, reply: session.ForkReply },
  "POST /sessions/{id}/rotate-token": { tier: "admin", status: 200, reply: session.RotateTokenReply },

  "GET /session": { tier: "person", status: 200, reply: session.LiveSessionsReply },
  "POST /session": { tier: "person", status: 201, body: session.CreateSessionBody, reply: session.CreateSessionReply },
  "GET /session/{id}": { tier: "session", status: 200, reply: session.SessionSnapshot },
  "DELETE /session/{id}": { tier: "session", status: 204 },
  "POST /session/{id}/message": {
    tier: "session",
    status: 202,
    body: turn.MessageBody,
    reply: turn.MessageReply,
  },
  "POST /session/{id}/cancel": { tier: "session", status: 204 },
  "GET /session/{id}/events": { tier: "session", status: 200, query: StreamQuery, stream: true },
  "POST /session/{id}/rotate-token": { tier: "admin", status: 200, reply: session.RotateTokenReply },
  "POST /tool/approve": { tier: "person", status: 200, body: turn.ToolApproveBody, reply: turn.ToolApproveReply },

  "GET /commands": { tier: "person", status: 200, reply: CommandsReply },
  "POST /commands/{name}/invoke": { tier: "person", status: 202, body: InvokeCommandBody, reply: InvokeCommandReply },

  "GET /runs": { tier: "person", status: 200, query: RunsQuery, reply: RunsReply },
  "GET /runs/cost": { tier: "person", status: 200, query: RunsQuery, reply: RunsCostReply },
  "POST /runs": { tier: "person", status: 200, body: CreateRunBody, reply: Run },
  "GET /runs/{run_id}": { tier: "person", status: 200, reply: Run },
  "POST /runs/{run_id}/cancel": { tier: "person", status: 200, reply: Run },
  "GET /runs/{run_id}/events": { tier: "person", status: 200, reply: RunEventsReply },
  "POST /acp": { tier: "any", status: 202, body: AcpMessage },
  "GET /acp": { tier: "any", status: 200, stream: true },
  "DELETE /acp": { tier: "any", status: 202 },
  "GET /agents": { tier: "person", status: 200, reply: AgentsReply },
  "GET /agents/{name}": { tier: "person", status: 200, reply: AgentManifest },
} as const satisfies Record<string, Route>;
