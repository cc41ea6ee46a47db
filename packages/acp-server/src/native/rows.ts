/** The rows of the native dialects. ferret's are otter's with the rows of its extensions merged in. */
import { resolve } from "node:path";
import type { Mark } from "@chimera/acp-schema/conversation";
import type { Decision } from "@chimera/acp-schema/events";
import { agentMethods as ferretMethods } from "@chimera/acp-schema/ferret";
import { type MessageRequest, agentMethods as otterMethods } from "@chimera/acp-schema/otter";
import { parseCursor } from "@chimera/event-store";
import { ErrorCode, RpcError } from "@chimera/ndjson-rpc";
import { isSessionError, type PromptInput, promptOf, type Session, type SessionReading } from "@chimera/session";
import { sessionsOf } from "../connection-sessions.js";
import type { Core } from "../core.js";
import type { DialectContext } from "../dialect.js";
import { requireDirectories } from "../input.js";
import type { NativeProjection } from "../project/otter.js";
import { type Handlers, type Rows, rowsOf } from "../row.js";
import { METHODS } from "./methods.js";
import { newestEvents, replayNative } from "./resume.js";
import { type NativeView, nativeView } from "./view.js";

/** The native list has no pages, so its answer must fit into one frame. */
const MOST_LISTED = 1000;

/** otter's shapes, with ferret's wider form of the answer to a permission. */
const SHAPES = { ...otterMethods, "permission/respond": ferretMethods["permission/respond"] };

export function nativeMethods(context: DialectContext, projection: NativeProjection): Rows {
  const shared = createShared(context, projection);
  return rowsOf(SHAPES, METHODS, {
    ...sessionRows(context, shared),
    ...turnRows(context, shared),
    ...permissionRows(context, shared),
  });
}

// --- internal ---

type Shared = ReturnType<typeof createShared>;

/** What the rows of a connection share. */
function createShared(context: DialectContext, projection: NativeProjection) {
  const clientSessions = sessionsOf(context);
  const { types } = projection;
  /** Shows the updates of a session after its last record, or after a place, until the client leaves. */
  const show = (core: Core, session: Session | SessionReading, at?: Mark): void => {
    const { id } = session;
    const { seq: from, id: shown } = at ?? { seq: session.lastSeq, id: session.conversation.count(types) };
    const view = () => nativeView(id, projection, shown);
    clientSessions.show(core, id, { from, view, isReplayed: at !== undefined, isHeld: !("prompt" in session) });
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
  /** Loads a session to read it. If another process holds it, its state is read from its log. */
  const findToRead = async (id: string) => {
    const core = await context.core();
    const session = await core.sessions.load(id).catch((error) => {
      if (!isSessionError(error) || error.code !== "session_claimed") throw error;
      return core.sessions.read(id);
    });
    return { core, session };
  };
  return { clientSessions, projection, types, show, find, open, findToRead };
}

/** Sessions: made, opened, listed, forked and set. */
function sessionRows(context: DialectContext, { show, open, find, findToRead, types }: Shared) {
  return {
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
      const { core, session } = await findToRead(sessionId);
      show(core, session);
      const { cwd, conversation } = session;
      const { agent, model } = session.settings;
      const isRunning = conversation.turns.some((turn) => turn && !turn.ended);
      const state = "state" in session ? session.state : isRunning ? "running" : "idle";
      return { sessionId, cwd, agent, model, state, lastEventId: conversation.count(types) };
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
          // A session that another process runs is not loaded here.
          state: sessions.find(id)?.state ?? (summary.state === "idle" ? null : "running"),
        })),
      };
    },
    "session/get": async ({ sessionId }) => {
      const { core, session } = await find(sessionId);
      // Take everything at one moment, because the log may grow while it is read.
      const { state, lastSeq: event_count } = session;
      const summary = { ...session.summary() };
      const step_count = session.conversation.facts.steps;
      const { events, truncated } = await newestEvents(core.sessions.logs, sessionId, event_count);
      const facts = { session_id: sessionId, state, status: summary.state, step_count, event_count };
      return { sessionId, ...facts, summary, events, truncated };
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
  } satisfies Handlers<typeof SHAPES>;
}

/** Turns, and their replay after a disconnect. */
function turnRows(context: DialectContext, { clientSessions, show, open, find, findToRead, projection }: Shared) {
  return {
    "session/message": (params, request) =>
      clientSessions.prompt(params.sessionId, request, async () => {
        const { session } = await open(params.sessionId);
        return { session, input: messageInput(params) };
      }),
    "session/turn": ({ sessionId, prompt: text }, request) =>
      clientSessions.prompt(sessionId, request, async () => {
        const { session } = await open(sessionId);
        (clientSessions.view(sessionId) as NativeView | undefined)?.useTurnNotifications();
        return { session, input: { text } };
      }),
    "session/cancel": async ({ sessionId }) => {
      await clientSessions.arrived(sessionId);
      const { session } = await find(sessionId);
      return { sessionId, cancelled: await session.cancel() };
    },
    "session/resume": async ({ sessionId, sinceEventId }) => {
      const { core, session } = await findToRead(sessionId);
      const { lastSeq: head } = session;
      const { connection, historyLimit } = context;
      const { logs } = core.sessions;
      const since = parseCursor(sinceEventId);
      const reply = await replayNative({ connection, logs, session, head, projection, since, historyLimit });
      show(core, session, { seq: head, id: reply.lastEventId });
      return reply;
    },
  } satisfies Handlers<typeof SHAPES>;
}

/** Answers to permissions and questions. */
function permissionRows(context: DialectContext, { find }: Shared) {
  /** Answers a permission or question by its id; the client need not name the session. */
  const respond = async (
    permissionId: string,
    decision: Decision,
    { sessionId, shown, answer }: { sessionId?: string; shown?: string | undefined; answer?: string | undefined },
  ): Promise<{ ok: true }> => {
    const core = await context.core();
    const candidates = sessionId === undefined ? core.sessions.live() : [(await find(sessionId)).session];
    const asks = candidates.find(({ openQuestions }) => openQuestions.has(permissionId));
    // Only an allow with a text answers a question.
    if (asks) await asks.answerQuestion(permissionId, decision === "allow" ? (answer ?? null) : null, context.origin);
    if (asks) return { ok: true };
    const session = candidates.find((candidate) => candidate.openPermissions.has(permissionId));
    if (!session)
      throw new RpcError(ErrorCode.invalidParams, `there is no unanswered permission ${permissionId}`, {
        permissionId,
      });
    await session.answer(permissionId, decision, context.origin, shown);
    return { ok: true };
  };
  return {
    "permission/respond": (answer) =>
      "requestId" in answer
        ? respond(answer.requestId, answer.reply, { shown: answer.shown, answer: answer.answer })
        : respond(answer.id, answer.decision, answer),
    "tool/approve": async (params) => {
      const permissionId = "permissionId" in params ? params.permissionId : params.permission_id;
      const decision = "decision" in params ? params.decision : params.reply;
      await respond(permissionId, decision === "approve" || decision === "allow" ? "allow" : "deny", {
        sessionId: params.sessionId,
      });
      return { sessionId: params.sessionId, permissionId, applied: true };
    },
  } satisfies Handlers<typeof SHAPES>;
}

async function requireAgent(core: Core, cwd: string, name: string): Promise<void> {
  const agents = (await core.agents(cwd)).map((agent) => agent.id);
  if (agents.includes(name)) return;
  throw new RpcError(ErrorCode.invalidParams, `there is no agent ${JSON.stringify(name.slice(0, 80))}`, { agents });
}

function messageInput(params: MessageRequest): PromptInput {
  if ("message" in params) return { text: params.message };
  if ("text" in params) return { text: params.text };
  const { content } = params;
  if (typeof content === "string") return { text: content };
  return promptOf(Array.isArray(content) ? content : [content]);
}
