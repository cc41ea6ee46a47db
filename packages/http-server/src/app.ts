/** REST and SSE over a sessions, as a plain hono app: listening, TLS and signals are somebody else's. */
import { isSessionError } from "@chimera/session";
import { Hono } from "hono";
import { ACCESS, type RouteName } from "./auth/access.js";
import { createGate } from "./auth/gate.js";
import { createRefusals } from "./auth/refusals.js";
import { createSessionTokens } from "./auth/token.js";
import type { AppDeps, AppEnv } from "./deps.js";
import { guard } from "./guard/guard.js";
import { errorResponse } from "./http-error.js";
import { type CreateSession, createOpenSession } from "./open-session.js";
import { healthRoutes } from "./probes.js";
import { refuseForeignBody } from "./request/body.js";
import { existingDirectory } from "./request/query.js";
import { agentRunRoutes } from "./routes/agent-runs.js";
import { commandRoutes } from "./routes/commands.js";
import { eventRoutes } from "./routes/events.js";
import { programRoutes } from "./routes/program.js";
import { reportRoutes } from "./routes/reports.js";
import type { Handler, Parts } from "./routes/route.js";
import { sessionAliasRoutes } from "./routes/session-alias.js";
import { sessionRoutes } from "./routes/sessions.js";
import { turnRoutes } from "./routes/turns.js";
import { undoRoutes } from "./routes/undo.js";
import { createStreams } from "./stream/streams.js";

export interface App extends Hono<AppEnv> {
  readonly createSession: CreateSession;
  /** A new token for a session; the former one is void at once. Null when there is no such session. */
  rotateSessionToken(id: string): Promise<string | null>;
}

export function createApp(deps: AppDeps): App {
  const { sessions } = deps;
  const tokens = createSessionTokens();
  const openSession = createOpenSession(sessions);
  const createSession: CreateSession = async ({ cwd, ...options } = {}) => {
    const where = cwd === undefined ? deps.defaultCwd : await existingDirectory(cwd, "cwd");
    const session = openSession.admit(await sessions.create({ ...options, cwd: where }));
    return { session, sessionToken: tokens.issue(session) };
  };
  const parts: Parts = {
    deps,
    tokens,
    openSession,
    createSession,
    streams: createStreams(sessions, deps.log),
    clock: deps.clock ?? Date.now,
  };
  const gate = createGate({ authToken: deps.authToken, isOwnUser: deps.isOwnUser, tokens, refusals: createRefusals() });
  const app = new Hono<AppEnv>();
  app.use("*", guard({ cors: deps.cors ?? [], hosts: deps.hosts ?? [] }));
  for (const [name, handle] of Object.entries(handlersOf(parts)) as [RouteName, Handler][]) {
    const [method = "", path = ""] = name.split(" ");
    app.on(method, path.replace(/\{(\w+)\}/g, ":$1"), async (c) => {
      await gate(c, ACCESS[name]);
      if (method === "POST") refuseForeignBody(c);
      return handle(c);
    });
  }
  // What no route answers is the master's to know: a stranger cannot tell a missing path from a forbidden one.
  app.notFound(async (c) => {
    await gate(c, "master");
    return c.json({ error: "not_found", path: c.req.path }, 404);
  });
  app.onError((error, c) => errorResponse(error, c, deps.log));
  return Object.assign(app, {
    createSession,
    async rotateSessionToken(id: string): Promise<string | null> {
      try {
        return tokens.issue(await openSession(id));
      } catch (error) {
        if (isSessionError(error) && error.code === "session_not_found") return null;
        throw error;
      }
    },
  });
}

// --- internal ---

function handlersOf(parts: Parts): Readonly<Record<RouteName, Handler>> {
  return {
    ...healthRoutes(parts),
    ...programRoutes(parts),
    ...sessionRoutes(parts),
    ...turnRoutes(parts),
    ...eventRoutes(parts),
    ...undoRoutes(parts),
    ...sessionAliasRoutes(parts),
    ...commandRoutes(parts),
    ...reportRoutes(parts),
    ...agentRunRoutes(parts),
  };
}
