/** The singular family: the same sessions in the shapes of the older API. */
import type { CreateSessionReply, LiveSessionsReply, SessionSnapshot } from "@chimera/acp-schema/http";
import { readBody } from "../request/body.js";
import { existingDirectory } from "../request/query.js";
import { type Handlers, type Parts, pathPart } from "./route.js";

export function sessionAliasRoutes({ deps, openSession, createSession, tokens, streams }: Parts) {
  const { sessions } = deps;
  return {
    "GET /session": (c) => {
      sessions.evictIdle();
      const ids = sessions.live().toSorted((a, b) => a.createdAt - b.createdAt);
      return c.json({ sessions: ids.map((session) => session.id) } satisfies LiveSessionsReply);
    },
    "POST /session": async (c) => {
      const { working_dir } = await readBody(c, "POST /session");
      const asked = working_dir === undefined ? {} : { cwd: await existingDirectory(working_dir, "working_dir") };
      const { session, sessionToken: session_token } = await createSession(asked);
      const { id, cwd, createdAt } = session;
      const reply = { session_id: id, working_dir: cwd, created_at: createdAt / 1000, session_token };
      return c.json(reply satisfies CreateSessionReply, 201);
    },
    "GET /session/{id}": async (c) => {
      const { id, cwd, createdAt, lastSeq } = await openSession(pathPart(c, "id"));
      const reply = { session_id: id, working_dir: cwd, created_at: createdAt / 1000, event_count: lastSeq };
      return c.json(reply satisfies SessionSnapshot);
    },
    "DELETE /session/{id}": async (c) => {
      const id = pathPart(c, "id");
      await openSession.require(id);
      tokens.revoke(id);
      await sessions.tearDown(id);
      streams.cut(id);
      return c.body(null, 204);
    },
  } satisfies Handlers;
}
