/** The singular family: the same sessions in the shapes of the older API. */

import type { CreateSessionReply, LiveSessionsReply, SessionSnapshot } from "@chimera/acp-schema/http";
import type { Session } from "@chimera/session";
import { requestOf } from "../creations.js";
import { readBody } from "../request/body.js";
import { existingDirectory } from "../request/query.js";
import { settingsChange } from "../settings-change.js";
import { type Handlers, pathPart, type RouteDeps } from "./route.js";

export function sessionAliasRoutes({ deps, openSession, createSession, creations, tokens, streams }: RouteDeps) {
  const { sessions } = deps;
  return {
    "GET /session": async (c) => {
      sessions.evictIdle();
      const here = sessions.live().toSorted((a, b) => a.createdAt - b.createdAt);
      const ids = new Set([...here.map(({ id }) => id), ...((await deps.peers?.held()) ?? [])]);
      return c.json({ sessions: [...ids] } satisfies LiveSessionsReply);
    },
    "POST /session": async (c) => {
      const body = await readBody(c, "POST /session");
      const { working_dir, ...named } = body;
      const request = requestOf(c, body);
      const asked = working_dir === undefined ? {} : { cwd: await existingDirectory(working_dir, "working_dir") };
      const change = await settingsChange(deps, working_dir ?? deps.defaultCwd, named);
      let token: string | undefined;
      const { id } = await creations.once(request, async () => {
        const made = await createSession({ ...asked, settings: change.made, request }, c.get("caller"), (one) =>
          one.set(change.rest(one)),
        );
        token = made.sessionToken;
        return made.session.id;
      });
      const session = await openSession(id);
      const session_token = token ?? (await tokens.issue(session, c.get("caller")));
      const reply = { ...placeOf(session), session_token };
      return c.json(reply satisfies CreateSessionReply, 201);
    },
    "GET /session/{id}": async (c) => {
      const session = await openSession.read(pathPart(c, "id"));
      return c.json({ ...placeOf(session), event_count: session.lastSeq } satisfies SessionSnapshot);
    },
    "DELETE /session/{id}": async (c) => {
      const id = pathPart(c, "id");
      await openSession.require(id);
      await openSession.requireHere(id);
      await sessions.tearDown(id);
      await tokens.revoke(id);
      streams.cut(id);
      return c.body(null, 204);
    },
  } satisfies Handlers;
}

// --- internal ---

function placeOf({ id, cwd, createdAt }: Pick<Session, "id" | "cwd" | "createdAt">) {
  // In whole seconds, as it is stored.
  const created = Math.floor(createdAt / 1000) * 1000;
  return {
    session_id: id,
    working_dir: cwd,
    created_at: created / 1000,
    created: new Date(created).toISOString(),
  };
}
