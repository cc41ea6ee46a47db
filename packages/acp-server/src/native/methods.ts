/** The rows of the native dialects. ferret's are otter's with its extensions' merged in. */
import { resolve } from "node:path";
import type { Conversation, Mark } from "@chimera/acp-schema/conversation";
import type { Decision } from "@chimera/acp-schema/events";
import { agentMethods as ferretMethods } from "@chimera/acp-schema/ferret";
import { type MessageRequest, agentMethods as otterMethods } from "@chimera/acp-schema/otter";
import { parseCursor } from "@chimera/event-store";
import { ErrorCode, type Methods, RpcError } from "@chimera/ndjson-rpc";
import { foldLog, isSessionError, type OwnedSession, type PromptInput } from "@chimera/session";
import type { Core } from "../core.js";
import type { DialectContext } from "../dialect.js";
import { requireDirectories } from "../directory.js";
import type { NativeProjection } from "../project/native.js";
import { promptInput } from "../prompt-content.js";
import { rowsOf } from "../rows.js";
import { newestEvents } from "./newest-events.js";
import { replayNative } from "./resume.js";
import { type NativeView, nativeView } from "./view.js";

/** This list has no pages: its answer is one frame. */
const MOST_LISTED = 1000;

/** otter's, with the wider of the two forms in which a permission is answered. */
const SHAPES = { ...otterMethods, "permission/respond": ferretMethods["permission/respond"] };

export function nativeMethods(context: DialectContext, projection: NativeProjection, historyLimit: number): Methods {
  const { connection, sessions: own } = context;
  const { types } = projection;
  /** Updates of a session, from its last record or from after a place, for as long as it is open here. */
  const show = (core: Core, session: OwnedSession, at?: Mark): void => {
    const { seq, id: shown } = at ?? { seq: session.lastSeq, id: session.conversation.count(types) };
    own.show(core, session.id, { from: seq, view: () => nativeView(session.id, projection, shown) });
  };
  const find = async (id: string) => {
    const core = await context.core();
    return { core, session: await core.sessions.load(id) };
  };
  const open = async (id: string) => {
    const { core, session } = await find(id);
    show(core, session);
    return { core, session };
  };
  /** The session as its log says, when another process holds it: any process may read. */
  const findHeld = async (core: Core, id: string, error: unknown): Promise<Held> => {
    if (!isSessionError(error) || error.code !== "session_claimed") throw error;
    const { logs } = core.sessions;
    const summary = await logs.readSummary(id);
    const conversation = await foldLog(logs, id, { keep: "state" });
    return { id, cwd: summary?.cwd ?? "", model: summary?.model ?? "", conversation, lastSeq: await logs.lastSeq(id) };
  };

  const requireAgent = async (core: Core, cwd: string, name: string) => {
    const agents = (await core.agents(cwd)).map((agent) => agent.id);
    if (agents.includes(name)) return;
    throw new RpcError(ErrorCode.invalidParams, `there is no agent ${JSON.stringify(name.slice(0, 80))}`, { agents });
  };
  /** Native permission ids are answered without naming the session. */
  const respond = async (permissionId: string, decision: Decision, sessionId?: string): Promise<{ ok: true }> => {
    const core = await context.core();
    const candidates = sessionId === undefined ? core.sessions.live() : [(await find(sessionId)).session];
    const session = candidates.find((candidate) => candidate.openPermissions.has(permissionId));
    if (!session) throw new RpcError(ErrorCode.invalidParams, `no open permission ${permissionId}`, { permissionId });
    await session.answer(permissionId, decision, context.origin);
    return { ok: true };
  };

  return rowsOf(SHAPES, {
    "session/new": async ({ cwd, working_dir, model, mode }) => {
      const directory = resolve(context.defaultCwd, cwd ?? working_dir ?? ".");
      requireDirectories([directory]);
      const core = await context.core();
      if (mode !== undefined) await requireAgent(core, directory, mode);
      const settings = { ...(model !== undefined && { model }), ...(mode !== undefined && { agent: mode }) };
      const session = await core.sessions.create({ cwd: directory, settings });
      show(core, session);
      return { sessionId: session.id, cwd: directory };
    },
    "session/load": async ({ sessionId }) => {
      const core = await context.core();
      const session = await core.sessions.load(sessionId).catch((error) => findHeld(core, sessionId, error));
      const lastEventId = session.conversation.count(types);
      if (isHeld(session)) {
        const { cwd, model, conversation, lastSeq: from } = session;
        const isRunning = conversation.turns.some((turn) => turn && !turn.ended);
        const state = isRunning ? ("running" as const) : ("idle" as const);
        own.show(core, sessionId, { from, view: () => nativeView(sessionId, projection, lastEventId), isHeld: true });
        const { agent = core.sessions.defaults.agent } = conversation.settings;
        return { sessionId, cwd, agent, model: conversation.settings.model ?? model, state, lastEventId };
      }
      show(core, session);
      const { agent, model } = session.settings;
      return { sessionId, cwd: session.cwd, agent, model, state: session.state, lastEventId };
    },
    "session/list": async () => {
      const { sessions } = await context.core();
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
      const { core, session } = await find(sessionId);
      // All as of one moment; the log may go on while it is read.
      const { state, lastSeq: event_count } = session;
      const summary = { ...session.summary() };
      const step_count = session.conversation.facts.steps;
      const { events, truncated } = await newestEvents(core.sessions.logs, sessionId, event_count);
      return { sessionId, session_id: sessionId, summary, events, state, step_count, event_count, truncated };
    },
    "session/message": (params, request) =>
      own.prompt(params.sessionId, request, async () => {
        const { session } = await open(params.sessionId);
        return { session, input: messageInput(params) };
      }),
    "session/turn": ({ sessionId, prompt: text }, request) =>
      own.prompt(sessionId, request, async () => {
        const { session } = await open(sessionId);
        (own.view(sessionId) as NativeView | undefined)?.useTurnNotifications();
        return { session, input: { text } };
      }),
    "session/cancel": async ({ sessionId }) => {
      await own.arrived(sessionId);
      const { session } = await find(sessionId);
      return { sessionId, cancelled: session.cancel() };
    },
    "session/setMode": async ({ sessionId, mode }) => {
      const { core, session } = await open(sessionId);
      await requireAgent(core, session.cwd, mode);
      await session.set({ agent: mode }, context.origin);
      return { sessionId, mode };
    },
    "session/setModel": async ({ sessionId, model }) => {
      await (await open(sessionId)).session.set({ model }, context.origin);
      return { sessionId, model };
    },
    "session/fork": async ({ sessionId, turn }) => {
      const { core } = await find(sessionId);
      const child = await core.sessions.fork(sessionId, { turn });
      show(core, child);
      return { sessionId: child.id, parentId: sessionId };
    },
    "session/resume": async ({ sessionId, sinceEventId }) => {
      const core = await context.core();
      const { logs, load } = core.sessions;
      const session = await load(sessionId).catch((error) => findHeld(core, sessionId, error));
      const { lastSeq: seq, conversation } = session;
      const since = parseCursor(sinceEventId);
      const reply = await replayNative({
        connection,
        logs,
        id: sessionId,
        conversation,
        head: seq,
        projection,
        since,
        historyLimit,
      });
      const view = () => nativeView(sessionId, projection, reply.lastEventId);
      own.show(core, sessionId, { from: seq, view, isHeld: isHeld(session) });
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

/** What is known of a session that another process holds. */
interface Held {
  readonly id: string;
  readonly cwd: string;
  readonly model: string;
  readonly conversation: Conversation;
  readonly lastSeq: number;
}

function isHeld(session: Held | OwnedSession): session is Held {
  return !("prompt" in session);
}

function messageInput(params: MessageRequest): PromptInput {
  if ("message" in params) return { text: params.message };
  if ("text" in params) return { text: params.text };
  const { content } = params;
  if (typeof content === "string") return { text: content };
  return promptInput(Array.isArray(content) ? content : [content]);
}
