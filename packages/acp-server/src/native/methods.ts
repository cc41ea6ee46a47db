/** The rows of the native dialects. ferret's are otter's with its extensions' merged in. */
import { resolve } from "node:path";
import type { Decision } from "@chimera/acp-schema/events";
import { agentMethods as ferretMethods } from "@chimera/acp-schema/ferret";
import { type MessageRequest, agentMethods as otterMethods } from "@chimera/acp-schema/otter";
import { parseCursor } from "@chimera/event-store";
import { ErrorCode, type Methods, RpcError } from "@chimera/ndjson-rpc";
import type { PromptInput } from "@chimera/session";
import type { Engine } from "../context.js";
import type { DialectContext } from "../dialect.js";
import { requireDirectories } from "../directory.js";
import type { NativeProjection } from "../project/native.js";
import { promptInput } from "../prompt-content.js";
import { rowsOf } from "../rows.js";
import { createConnectionSessions } from "./connection-sessions.js";
import { newestEvents } from "./newest-events.js";
import { replayNative } from "./resume.js";

/** This list has no pages: its answer is one frame. */
const MOST_LISTED = 1000;

/** otter's, with the wider of the two forms in which a permission is answered. */
const SHAPES = { ...otterMethods, "permission/respond": ferretMethods["permission/respond"] };

export function nativeMethods(context: DialectContext, projection: NativeProjection, historyLimit: number): Methods {
  const { connection, open } = context;
  const own = createConnectionSessions(context, projection);

  const requireAgent = async (engine: Engine, cwd: string, name: string) => {
    const agents = (await engine.agents(cwd)).map((agent) => agent.id);
    if (agents.includes(name)) return;
    throw new RpcError(ErrorCode.invalidParams, `there is no agent ${JSON.stringify(name.slice(0, 80))}`, { agents });
  };
  /** Native permission ids are answered without naming the session. */
  const respond = async (permissionId: string, decision: Decision, sessionId?: string): Promise<{ ok: true }> => {
    const engine = await context.engine();
    const candidates = sessionId === undefined ? engine.sessions.live() : [(await own.find(sessionId)).session];
    const session = candidates.find((candidate) => candidate.openPermissions.has(permissionId));
    if (!session) throw new RpcError(ErrorCode.invalidParams, `no open permission ${permissionId}`, { permissionId });
    await session.answer(permissionId, decision, context.origin);
    return { ok: true };
  };

  return rowsOf(SHAPES, {
    "session/new": async ({ cwd, working_dir, model, mode }) => {
      const directory = resolve(context.defaultCwd, cwd ?? working_dir ?? ".");
      requireDirectories([directory]);
      const engine = await context.engine();
      if (mode !== undefined) await requireAgent(engine, directory, mode);
      const settings = { ...(model !== undefined && { model }), ...(mode !== undefined && { agent: mode }) };
      const session = await engine.sessions.create({ cwd: directory, settings });
      own.show(session);
      return { sessionId: session.id, cwd: directory };
    },
    "session/load": async ({ sessionId }) => {
      const { session } = await own.open(sessionId);
      const { agent, model } = session.settings;
      const lastEventId = session.history.count(projection.types);
      return { sessionId, cwd: session.cwd, agent, model, state: session.state, lastEventId };
    },
    "session/list": async () => {
      const { sessions } = await context.engine();
      const page = await sessions.list({ limit: MOST_LISTED });
      return {
        sessions: page.sessions.map(({ id, summary, touched }) => ({
          sessionId: id,
          cwd: summary.cwd,
          title: summary.title,
          updatedAt: new Date(touched).toISOString(),
          model: summary.model,
          // One that another process runs is not loaded here.
          state: sessions.find(id)?.state ?? (summary.state === "idle" ? null : "running"),
        })),
      };
    },
    "session/get": async ({ sessionId }) => {
      const { engine, session } = await own.find(sessionId);
      // All as of one moment; the log may go on while it is read.
      const { state, lastSeq: event_count } = session;
      const summary = { ...session.summary() };
      const step_count = session.history.facts.steps;
      const { events, truncated } = await newestEvents(engine.sessions.storeOf(sessionId), sessionId, event_count);
      return { sessionId, session_id: sessionId, summary, events, state, step_count, event_count, truncated };
    },
    "session/message": (params, request) =>
      open.prompt(params.sessionId, request, async () => {
        const { session } = await own.open(params.sessionId);
        return { session, input: messageInput(params) };
      }),
    "session/turn": ({ sessionId, prompt: text }, request) =>
      open.prompt(sessionId, request, async () => {
        const { session } = await own.open(sessionId);
        own.useTurnNotifications(session);
        return { session, input: { text } };
      }),
    "session/cancel": async ({ sessionId }) => {
      await open.arrived(sessionId);
      const { session } = await own.find(sessionId);
      return { sessionId, cancelled: session.cancel() };
    },
    "session/setMode": async ({ sessionId, mode }) => {
      const { engine, session } = await own.open(sessionId);
      await requireAgent(engine, session.cwd, mode);
      session.setAgent(mode, context.origin);
      return { sessionId, mode };
    },
    "session/setModel": async ({ sessionId, model }) => {
      (await own.open(sessionId)).session.setModel(model, context.origin);
      return { sessionId, model };
    },
    "session/fork": async ({ sessionId, turn }) => {
      const { engine } = await own.find(sessionId);
      const child = await engine.sessions.fork(sessionId, { turn });
      own.show(child);
      return { sessionId: child.id, parentId: sessionId };
    },
    "session/resume": async (params) => {
      const { engine, session } = await own.find(params.sessionId);
      const head = session.lastSeq;
      const since = parseCursor(params.sinceEventId);
      const store = engine.sessions.storeOf(session.id);
      const reply = await replayNative({ connection, store, session, projection, since, historyLimit, head });
      own.show(session, { seq: head, shown: reply.lastEventId });
      return reply;
    },
    "permission/respond": (answer) =>
      "requestId" in answer
        ? respond(answer.requestId, answer.reply)
        : respond(answer.id, answer.decision, answer.sessionId),
    "tool/approve": async (params) => {
      const permissionId = "permissionId" in params ? params.permissionId : params.permission_id;
      const decision = "decision" in params ? params.decision : params.reply;
      await respond(permissionId, decision === "approve" || decision === "allow" ? "allow" : "deny", params.sessionId);
      return { sessionId: params.sessionId, permissionId, applied: true };
    },
  });
}

// --- internal ---

function messageInput(params: MessageRequest): PromptInput {
  if ("message" in params) return { text: params.message };
  if ("text" in params) return { text: params.text };
  const { content } = params;
  if (typeof content === "string") return { text: content };
  return promptInput(Array.isArray(content) ? content : [content]);
}
