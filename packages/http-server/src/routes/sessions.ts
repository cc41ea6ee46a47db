/** Lists, makes, reads, changes, forks and deletes sessions, and renews their tokens. */
import type {
  CreateRunningSessionReply,
  DeleteSessionReply,
  ForkReply,
  ListSessionsReply,
  RotateTokenReply,
  TitleReply,
} from "@chimera/acp-schema/http";
import { foldLog, type OwnedSession, SessionError } from "@chimera/session";
import { keyOf, requestOf } from "../creations.js";
import { HttpError } from "../http-error.js";
import { promptFrom, readBody } from "../request/body.js";
import { readQuery, requirePageEnd } from "../request/query.js";
import { prefers } from "../request/unknown.js";
import { pageOfSessions } from "../session-list.js";
import { settingsChange, settingsOf } from "../settings-change.js";
import { lineOf } from "../stream/projection.js";
import { streamArray } from "../stream/text-body.js";
import { withReports } from "../with-reports.js";
import { type Handler, type Handlers, isGuest, pathPart, type RouteDeps } from "./route.js";

export function sessionRoutes(shared: RouteDeps) {
  return { ...listRoutes(shared), ...oneRoutes(shared), ...lifeRoutes(shared) };
}

// --- internal ---

/** The list, and making a session with its first prompt. */
function listRoutes({ deps, openSession, createSession, creations, tokens, clock }: RouteDeps) {
  const { sessions } = deps;
  return {
    "GET /sessions": async (c) => {
      const { state = "all", limit, after, since, model } = readQuery(c, "GET /sessions");
      requirePageEnd(after);
      const asked = await withReports(({ parseLimit, parseSince }) => ({
        limit: limit === undefined ? undefined : parseLimit(limit),
        since: parseSince(since, clock()),
      }));
      const page = await pageOfSessions(sessions, { state, after, model, ...asked }, await deps.peers?.held());
      return c.json(page satisfies ListSessionsReply);
    },

    "POST /sessions": async (c) => {
      const body = await readBody(c, "POST /sessions", { prompt: "missing_prompt" });
      const { prompt, content, max_steps, allowed_tools, cwd, persist = true } = body;
      const change = await settingsChange(deps, cwd ?? deps.defaultCwd, body);
      const input = { ...promptFrom(prompt, content, "missing_prompt"), key: keyOf(c) };
      const request = requestOf(c, body);
      const begin = async (made: OwnedSession) => {
        await made.set(change.rest(made));
        await made.prompt(input).durable;
      };
      let token: string | undefined;
      const { id, isNew } = await creations.once(request, async () => {
        const settings = {
          ...change.made,
          ...(max_steps !== undefined && { maxSteps: max_steps }),
          ...(allowed_tools !== undefined && { allowedTools: allowed_tools }),
        };
        const asked = { ...(cwd !== undefined && { cwd }), persist, settings, prompted: true, request };
        const { session, sessionToken } = await createSession(asked, c.get("caller"), begin);
        token = sessionToken;
        return session.id;
      });
      const session = await openSession(id);
      // The process that made the session died before it sent the prompt.
      if (!isNew && session.conversation.turns.length === 0) await begin(session);
      // A caller that repeats the request did not get the first answer, so it gets a new token.
      const session_token = token ?? (await tokens.issue(session, c.get("caller")));
      return c.json({ session_id: id, status: "running", session_token } satisfies CreateRunningSessionReply, 201);
    },
  } satisfies Handlers;
}

/** One session: its state, settings, title and token. */
function oneRoutes({ deps, openSession, tokens }: RouteDeps) {
  const { sessions } = deps;
  const rotate: Handler = async (c) => {
    const session = await openSession(pathPart(c, "id"));
    return c.json({ session_token: await tokens.issue(session, c.get("caller")) } satisfies RotateTokenReply);
  };
  return {
    "GET /sessions/{id}/settings": async (c) => c.json(settingsOf(await openSession.read(pathPart(c, "id")))),

    "GET /sessions/{id}": async (c) => {
      const id = pathPart(c, "id");
      const session = sessions.find(id);
      session?.touch();
      // Read the state before the log: if it is idle, the log has the last record.
      const isLive = !session && sessions.live().some((one) => one.id === id);
      const isElsewhere = isLive || (!session && (await deps.peers?.isElsewhere(id)) === true);
      const { logs } = sessions;
      const summary = session?.summary() ?? (await logs.readSummary(id));
      if (!summary) throw new SessionError("session_not_found", `there is no session ${id}`);
      const state = session?.state ?? (isElsewhere ? (summary.state === "idle" ? "idle" : "running") : "persisted");
      const event_count = await logs.lastSeq(id);
      const facts = { session_id: id, state, status: summary.state, step_count: summary.steps ?? 0, event_count };
      const head = `${JSON.stringify({ ...facts, summary }).slice(0, -1)},"events":[`;
      const lines = async function* () {
        for await (const entry of logs.read(id, { to: event_count })) yield lineOf(entry);
      };
      return streamArray(c, deps.log, { head, members: lines(), tail: "]}" });
    },

    "PATCH /sessions/{id}": async (c) => {
      const named = await readBody(c, "PATCH /sessions/{id}");
      // The permissions of a session are changed by the operator, not by the holder of its token.
      if (isGuest(c) && Object.keys(named).some((name) => name !== "title")) {
        throw new HttpError(403, "admin_only", "with this session's token only its title can be changed");
      }
      const session = await openSession(pathPart(c, "id"));
      const change = await settingsChange(deps, session.cwd, named);
      await session.set(change.all(session));
      return c.json(settingsOf(session));
    },

    "POST /sessions/{id}/title": async (c) => {
      const { title } = await readBody(c, "POST /sessions/{id}/title", { title: "missing_title" });
      const session = await openSession(pathPart(c, "id"));
      const durable = session.setTitle(title);
      // Read at once: another request may set the next title meanwhile.
      const reply: TitleReply = { session_id: session.id, title: session.title ?? "" };
      await durable;
      return c.json(reply);
    },

    "POST /sessions/{id}/rotate-token": rotate,
    "POST /session/{id}/rotate-token": rotate,
  } satisfies Handlers;
}

/** Fork and deletion. */
function lifeRoutes({ deps, openSession, creations, tokens, streams }: RouteDeps) {
  const { sessions } = deps;
  const contentsOf = async (session_id: string, deleted: boolean): Promise<DeleteSessionReply> => {
    const session = await openSession.read(session_id).catch(() => null);
    const records = await sessions.logs.lastSeq(session_id);
    const snapshots = (await session?.snapshots?.list())?.length ?? 0;
    // A session that was torn down cannot be loaded and has no snapshots, but it has its log.
    const { turns } = session?.conversation ?? (await foldLog(sessions.logs, session_id, { keep: "state" }));
    return { session_id, deleted, records, turns: turns.length, snapshots };
  };
  return {
    "POST /sessions/{id}/fork": async (c) => {
      const parent_id = pathPart(c, "id");
      const body = await readBody(c, "POST /sessions/{id}/fork");
      const request = requestOf(c, body);
      const { id } = await creations.once(request, async () => {
        const { turn } = body;
        return (await sessions.fork(parent_id, { turn, request })).id;
      });
      const child = await openSession(id);
      const session_token = await tokens.issue(child, c.get("caller"));
      return c.json({ session_id: child.id, parent_id, session_token } satisfies ForkReply, 201);
    },

    "DELETE /sessions/{id}": async (c) => {
      const id = pathPart(c, "id");
      const isDry = readQuery(c, "DELETE /sessions/{id}").dry_run === "true";
      await openSession.requireLog(id);
      await openSession.requireHere(id);
      const isAsked = isDry || prefers(c, "return=representation");
      const report = isAsked ? await contentsOf(id, !isDry) : null;
      if (!isDry) {
        await sessions.delete(id);
        await tokens.revoke(id);
        streams.cut(id);
      }
      return report ? c.json(report) : c.body(null, 204);
    },
  } satisfies Handlers;
}
