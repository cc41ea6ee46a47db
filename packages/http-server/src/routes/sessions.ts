/** Sessions: listed, made, read whole, named and deleted. */
import type { CreateRunningSessionReply, ListSessionsReply, SessionRow, TitleReply } from "@chimera/acp-schema/http";
import { type ListedSummary, listedSessions, type Session, SessionError, type Summary } from "@chimera/session";
import { LIMITS } from "../limits.js";
import { readBody } from "../request/body.js";
import { readQuery } from "../request/query.js";
import { lineOf } from "../stream/projection.js";
import { streamArray } from "../stream/text-body.js";
import { withReports } from "../with-reports.js";
import { type Handlers, type Parts, pathPart } from "./route.js";

export function sessionRoutes(parts: Parts) {
  const { deps, openSession, createSession, tokens, streams, clock } = parts;
  const { sessions } = deps;
  return {
    "GET /sessions": async (c) => {
      const { state = "all", limit, since, model } = readQuery(c, "GET /sessions");
      const { cap, from } = await withReports(({ parseLimit, parseSince }) => ({
        cap: limit === undefined ? LIMITS.listedSessions : parseLimit(limit),
        from: parseSince(since, clock()),
      }));
      const matches = ({ summary }: { summary: Summary }) =>
        (model === undefined || summary.model === model) && (from === null || Date.parse(summary.started_at) >= from);
      const live = sessions.live().map((session) => ({ session, summary: session.summary() }));
      const rows: { touched: number; row: SessionRow }[] = [];
      if (state !== "persisted") {
        for (const { session, summary } of live.filter(matches)) {
          rows.push({ touched: session.touchedAt, row: rowOf(summary, session.touchedAt, session) });
        }
      }
      if (state !== "live") {
        const present = state === "all" ? new Set(live.map(({ session }) => session.id)) : new Set<string>();
        const passes = (row: ListedSummary) => !present.has(row.id) && matches(row);
        const stored = await listedSessions(sessions, { most: cap, since: from, passes });
        for (const { summary, touched } of stored) rows.push({ touched, row: rowOf(summary, touched, null) });
      }
      rows.sort((a, b) => b.touched - a.touched);
      return c.json({ sessions: rows.map(({ row }) => row) } satisfies ListSessionsReply);
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
  return {
    session_id: summary.session_id,
    state: session ? "live" : "persisted",
    working_dir: summary.cwd || null,
    created_at: session ? session.createdAt / 1000 : Date.parse(summary.started_at) / 1000,
    last_touched: touched / 1000,
    event_count: session?.lastSeq ?? null,
    started_at: summary.started_at,
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
