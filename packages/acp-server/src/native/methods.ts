/** The rows of the native dialects. ferret's are otter's with its extensions' merged in. */
import { resolve } from "node:path";
import type { Decision } from "@chimera/acp-schema/events";
import { agentMethods as ferretMethods } from "@chimera/acp-schema/ferret";
import { type MessageRequest, agentMethods as otterMethods } from "@chimera/acp-schema/otter";
import { parseCursor } from "@chimera/event-store";
import { ErrorCode, type Methods, type RequestContext, RpcError } from "@chimera/ndjson-rpc";
import type { PromptInput, Session } from "@chimera/session";
import type { Engine } from "../context.js";
import type { DialectContext } from "../dialect.js";
import { requireDirectories } from "../directory.js";
import type { NativeProjection } from "../project/native.js";
import { promptInput } from "../prompt-content.js";
import { rowsOf } from "../rows.js";
import { newestEvents } from "./newest-events.js";
import { replayNative } from "./resume.js";
import { type NativeView, nativeView } from "./view.js";

/** otter's, with the wider of the two forms in which a permission is answered. */
const SHAPES = { ...otterMethods, "permission/respond": ferretMethods["permission/respond"] };

export function nativeMethods(context: DialectContext, projection: NativeProjection, historyLimit: number): Methods {
  const { connection, open } = context;
  const views = new WeakMap<Session, NativeView>();

  /** `from` is a place in the log and how many updates are up to it; by default, the head. */
  const show = (
    session: Session,
    from = { seq: session.lastSeq, shown: session.history.count(projection.types) },
  ): void =>
    open.open(
      session,
      (opened) => {
        const view = nativeView(opened, projection, from.shown);
        views.set(opened, view);
        return view;
      },
      { from: from.seq, again: (reloaded) => show(reloaded) },
    );
  const load = async (id: string): Promise<{ engine: Engine; session: Session }> => {
    const engine = await context.engine();
    return { engine, session: await engine.sessions.load(id) };
  };
  const sessionOf = async (id: string) => {
    const loaded = await load(id);
    show(loaded.session);
    return loaded;
  };
  const prompt = (id: string, input: PromptInput, request: RequestContext, turnClient: boolean) =>
    open.prompt(id, request, async () => {
      const { session } = await sessionOf(id);
      if (turnClient) views.get(session)?.useTurnNotifications();
      return { session, input };
    });
  const requireAgent = async (engine: Engine, cwd: string, name: string) => {
    const agents = (await engine.agents(cwd)).map((agent) => agent.id);
    if (agents.includes(name)) return;
    throw new RpcError(ErrorCode.invalidParams, `there is no agent ${JSON.stringify(name.slice(0, 80))}`, { agents });
  };
  /** Native permission ids are answered without naming the session. */
  const respond = async (permissionId: string, decision: Decision, sessionId?: string): Promise<{ ok: true }> => {
    const engine = await context.engine();
    const candidates = sessionId === undefined ? engine.sessions.live() : [(await load(sessionId)).session];
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
      show(session);
      return { sessionId: session.id, cwd: directory };
    },
    "session/load": async ({ sessionId }) => {
      const { session } = await sessionOf(sessionId);
      const { agent, model } = session.settings;
      const lastEventId = session.history.count(projection.types);
      return { sessionId, cwd: session.cwd, agent, model, state: session.state, lastEventId };
    },
    "session/list": async () => {
      const { sessions } = await context.engine();
      const { sessions: rows } = await sessions.list({ limit: 100 });
      return {
        sessions: rows.map(({ id, summary, touched }) => ({
          sessionId: id,
          cwd: summary.cwd,
          title: summary.title,
          updatedAt: new Date(touched).toISOString(),
          model: summary.model,
          state: sessions.find(id)?.state ?? null,
        })),
      };
    },
    "session/get": async ({ sessionId }) => {
      const { engine, session } = await load(sessionId);
      // All as of one moment; the log may go on while it is read.
      const { state, lastSeq: event_count } = session;
      const summary = { ...session.summary() };
      const step_count = session.history.facts.steps;
      const { events, truncated } = await newestEvents(engine.sessions.storeOf(sessionId), sessionId, event_count);
      return { sessionId, session_id: sessionId, summary, events, state, step_count, event_count, truncated };
    },
    "session/message": (params, request) => prompt(params.sessionId, messageInput(params), request, false),
    "session/turn": ({ sessionId, prompt: text }, request) => prompt(sessionId, { text }, request, true),
    "session/cancel": async ({ sessionId }) => {
      await open.arrived(sessionId);
      const { session } = await load(sessionId);
      return { sessionId, cancelled: session.cancel() };
    },
    "session/setMode": async ({ sessionId, mode }) => {
      const { engine, session } = await sessionOf(sessionId);
      await requireAgent(engine, session.cwd, mode);
      session.setAgent(mode, context.origin);
      return { sessionId, mode };
    },
    "session/setModel": async ({ sessionId, model }) => {
      (await sessionOf(sessionId)).session.setModel(model, context.origin);
      return { sessionId, model };
    },
    "session/fork": async ({ sessionId, turn }) => {
      const { engine } = await load(sessionId);
      const child = await engine.sessions.fork(sessionId, { turn });
      show(child);
      return { sessionId: child.id, parentId: sessionId };
    },
    "session/resume": async (params) => {
      const { engine, session } = await load(params.sessionId);
      const head = session.lastSeq;
      const since = parseCursor(params.sinceEventId);
      const store = engine.sessions.storeOf(session.id);
      const reply = await replayNative({ connection, store, session, projection, since, historyLimit, head });
      show(session, { seq: head, shown: reply.lastEventId });
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
