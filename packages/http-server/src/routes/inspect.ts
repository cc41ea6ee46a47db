/** What a client looks at in a session besides its records: files, changes per turn, who is attached; and search over all of them. */
import type { ChangesReply, ClientsReply, SearchReply } from "@chimera/acp-schema/http";
import { HttpError } from "../http-error.js";
import { LIMITS } from "../limits.js";
import { readQuery } from "../request/query.js";
import { withReports } from "../with-reports.js";
import { lookAt } from "../workspace-files.js";
import { type Handlers, type Parts, pathPart } from "./route.js";

export function inspectRoutes({ deps, openSession, streams, clock }: Parts) {
  const { sessions } = deps;
  return {
    "GET /sessions/{id}/files": async (c) => {
      const { path = "." } = readQuery(c, "GET /sessions/{id}/files");
      const { cwd } = await openSession.read(pathPart(c, "id"));
      return c.json(await lookAt(cwd, path));
    },
    "GET /sessions/{id}/changes": async (c) => {
      const { turn: asked, diff } = readQuery(c, "GET /sessions/{id}/changes");
      const { id, snapshots } = await openSession(pathPart(c, "id"));
      const list = (await snapshots?.list()) ?? [];
      const taken = list.filter(({ turn }) => asked === undefined || turn === Number(asked));
      const turns = taken.map(async ({ turn, snapId, timestamp, files }) => {
        const shown = diff === "true" ? ((await snapshots?.edits(snapId)) ?? []) : files;
        return {
          turn,
          snap_id: snapId,
          changed: new Date(timestamp * 1000).toISOString(),
          files: shown.map((file) => ({ ...file })),
        };
      });
      return c.json({ session_id: id, turns: await Promise.all(turns) } satisfies ChangesReply);
    },
    "GET /sessions/{id}/clients": async (c) => {
      const id = pathPart(c, "id");
      await openSession.requireLog(id);
      const clients = [...sessions.clients(id), ...streams.clients(id)].map(({ since, ...client }) => ({
        ...client,
        since: new Date(since).toISOString(),
      }));
      return c.json({ clients } satisfies ClientsReply);
    },
    "GET /search": async (c) => {
      const { q, limit, since } = readQuery(c, "GET /search");
      if (q.trim() === "") throw new HttpError(400, "invalid_query", "q: say what to look for");
      return withReports(async ({ parseLimit, parseSince, searchSessions }) => {
        const from = parseSince(since, clock());
        const { sessions: rows } = await sessions.list({
          limit: LIMITS.searchedSessions,
          ...(from !== null && { since: from }),
        });
        const most = parseLimit(limit) ?? LIMITS.searchHits;
        const reply: SearchReply = { hits: [], searched: 0 };
        for await (const hit of searchSessions(sessions.logs, rows, q)) {
          if (c.req.raw.signal.aborted) break;
          reply.searched++;
          if (hit && reply.hits.push(hit) >= most) break;
        }
        return c.json(reply);
      });
    },
  } satisfies Handlers;
}
