/** Sessions: listed, made, read whole, named, forked, given new tokens and deleted. */
import type {
  CreateRunningSessionReply,
  ForkReply,
  ListSessionsReply,
  RotateTokenReply,
  SessionRow,
  TitleReply,
} from "@chimera/acp-schema/http";
import type { Summary } from "@chimera/acp-schema/summary";
import { sessionTime } from "@chimera/event-store";
import { type Session, SessionError } from "@chimera/session";
import { LIMITS } from "../limits.js";
import { readBody } from "../request/body.js";
import { readQuery } from "../request/query.js";
import { lineOf } from "../stream/projection.js";
import { streamArray } from "../stream/text-body.js";
import { withReports } from "../with-reports.js";
import { type Handler, type Handlers, type Parts, pathPart } from "./route.js";

export function sessionRoutes({ deps, openSession, createSession, tokens, streams, clock }: Parts) {
  const { sessions } = deps;
  const rotate: Handler = async (c) => {
    const session = await openSession(pathPart(c, "id"));
    return c.json({ session_token: tokens.issue(session) } satisfies RotateTokenReply);
  };
  return {
    "GET /sessions": async (c) => {
      const { state = "all", limit, since, model } = readQuery(c, "GET /sessions");
      const { cap, from } = await withReports(({ parseLimit, parseSince }) => ({
        cap: limit === undefined ? LIMITS.listedSessions : parseLimit(limit),
        from: parseSince(since, clock()),
      }));
      const matches = ({ summary, createdAt }: { summary: Summary; createdAt: number }) =>
        (model === undefined || summary.model === model) && (from === null || createdAt >= from);
      const live = state === "persisted" ? [] : sessions.live();
      const rows = live
        .map((session) => ({ session, summary: session.summary(), createdAt: session.createdAt }))
        .filter(matches)
        .map(({ session, summary }) => rowOf(summary, session.touchedAt, session));
      if (state !== "live") {
        const present = new Set(live.map(({ id }) => id));
        const page = await sessions.list({
          ...(cap !== null && { limit: cap + present.size }),
          ...(from !== null && { since: from }),
          ...(model !== undefined && { model }),
        });
        const stored = page.sessions.filter(({ id }) => !present.has(id)).slice(0, cap ?? undefined);
        rows.push(...stored.map(({ summary, touched }) => rowOf(summary, touched, null)));
      }
      rows.sort((a, b) => (b.last_touched ?? 0) - (a.last_touched ?? 0));
      // Without a limit no live session is left out.
      return c.json({
        sessions: limit === undefined ? rows : rows.slice(0, cap ?? undefined),
      } satisfies ListSessionsReply);
    },

    "POST /sessions": async (c) => {
      const body = await readBody(c, "POST /sessions", { prompt: "missing_prompt" });
      const { prompt, model, effort, max_steps, allowed_tools, cwd, persist = true } = body;
      const { session, sessionToken: session_token } = await createSession({
        ...(cwd !== undefined && { cwd }),
        persist,
        settings: {
          ...(model !== undefined && { model }),
          ...(effort !== undefined && { options: { ...sessions.defaults.options, effort } }),
          ...(max_steps !== undefined && { maxSteps: max_steps }),
          ...(allowed_tools !== undefined && { allowedTools: allowed_tools }),
        },
      });
      const { status, durable } = session.prompt({ text: prompt });
      await durable;
      return c.json({ session_id: session.id, status, session_token } satisfies CreateRunningSessionReply, 201);
    },

    "GET /sessions/{id}": async (c) => {
      const id = pathPart(c, "id");
      const session = sessions.find(id);
      session?.touch();
      // Asked before the log is: what is idle here has its last record in what follows.
      const state = session?.state ?? "persisted";
      const { logs } = sessions;
      const summary = session?.summary() ?? (await logs.readSummary(id));
      if (!summary) throw new SessionError("session_not_found", `there is no session ${id}`);
      const event_count = await logs.lastSeq(id);
      const facts = {
        session_id: id,
        state,
        step_count: summary.steps ?? 0,
        event_count,
      };
      const head = `${JSON.stringify({ ...facts, summary }).slice(0, -1)},"events":[`;
      const lines = async function* () {
        for await (const entry of logs.read(id, { to: event_count })) yield lineOf(entry);
      };
      return streamArray(c, deps.log, { head, members: lines(), tail: "]}" });
    },

    "POST /sessions/{id}/title": async (c) => {
      const { title } = await readBody(c, "POST /sessions/{id}/title", { title: "missing_title" });
      const session = await openSession(pathPart(c, "id"));
      await session.setTitle(title);
      return c.json({ session_id: session.id, title: session.title ?? "" } satisfies TitleReply);
    },

    "POST /sessions/{id}/rotate-token": rotate,
    "POST /session/{id}/rotate-token": rotate,

    "POST /sessions/{id}/fork": async (c) => {
      const parent_id = pathPart(c, "id");
      const { turn } = await readBody(c, "POST /sessions/{id}/fork");
      const child = openSession.admit(await sessions.fork(parent_id, { turn }));
      return c.json({ session_id: child.id, parent_id, session_token: tokens.issue(child) } satisfies ForkReply, 201);
    },

    "DELETE /sessions/{id}": async (c) => {
      const id = pathPart(c, "id");
      await openSession.requireLog(id);
      tokens.revoke(id);
      await sessions.delete(id);
      streams.cut(id);
      return c.body(null, 204);
    },
  } satisfies Handlers;
}

// --- internal ---

function rowOf(summary: Summary, touched: number, session: Session | null): SessionRow {
  const started = summary.started_at ?? timeInId(summary.session_id);
  return {
    session_id: summary.session_id,
    state: session ? "live" : "persisted",
    status: summary.state,
    working_dir: summary.cwd || null,
    created_at: session ? session.createdAt / 1000 : started === null ? null : Date.parse(started) / 1000,
    last_touched: touched / 1000,
    event_count: session?.lastSeq ?? null,
    started_at: started,
    ended_at: summary.ended_at,
    model: summary.model || null,
    prompt: summary.prompt,
    title: summary.title,
    success: summary.ended_at === null ? null : summary.success,
    cost_usd: summary.cost_usd,
    steps: summary.steps,
    tool_calls: summary.tool_calls_total,
  };
}

function timeInId(id: string): string | null {
  const time = sessionTime(id);
  return Number.isNaN(time) ? null : `${new Date(time).toISOString().slice(0, 19)}Z`;
}
