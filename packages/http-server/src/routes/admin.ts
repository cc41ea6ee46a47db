/** What only the master may do to a session: renew its token, branch it. */
import type { ForkReply, RotateTokenReply } from "@chimera/acp-schema/http";
import { readBody } from "../request/body.js";
import { type Handler, type Handlers, type Parts, pathPart } from "./route.js";

export function adminRoutes({ deps, openSession, tokens }: Parts) {
  const rotate: Handler = async (c) => {
    const session = await openSession(pathPart(c, "id"));
    return c.json({ session_token: tokens.issue(session) } satisfies RotateTokenReply);
  };
  return {
    "POST /sessions/{id}/rotate-token": rotate,
    "POST /session/{id}/rotate-token": rotate,
    "POST /sessions/{id}/fork": async (c) => {
      const parent_id = pathPart(c, "id");
      const { turn } = await readBody(c, "POST /sessions/{id}/fork");
      const child = openSession.admit(await deps.sessions.fork(parent_id, { turn }));
      return c.json({ session_id: child.id, parent_id, session_token: tokens.issue(child) } satisfies ForkReply, 201);
    },
  } satisfies Handlers;
}
