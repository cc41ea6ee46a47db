/** Prompts, and ending them: the same for both families. */
import type { MessageReply, TurnReply } from "@chimera/acp-schema/http";
import { readBody } from "../request/body.js";
import { type Handler, type Handlers, type Parts, pathPart } from "./route.js";

export function turnRoutes({ deps, openSession }: Parts) {
  const cancel: Handler = async (c) => {
    const id = pathPart(c, "id");
    await openSession.require(id);
    deps.sessions.find(id)?.cancel();
    return c.body(null, 204);
  };
  return {
    "POST /sessions/{id}/turns": async (c) => {
      const { prompt } = await readBody(c, "POST /sessions/{id}/turns", { prompt: "missing_prompt" });
      const session = await openSession(pathPart(c, "id"));
      const { status, messageId, durable } = session.prompt({ text: prompt });
      await durable;
      return c.json({ session_id: session.id, status, message_id: messageId } satisfies TurnReply, 202);
    },
    "POST /session/{id}/message": async (c) => {
      const { text } = await readBody(c, "POST /session/{id}/message", { text: "missing_text" });
      const session = await openSession(pathPart(c, "id"));
      const { messageId, durable } = session.prompt({ text });
      await durable;
      return c.json({ message_id: messageId } satisfies MessageReply, 202);
    },
    "POST /sessions/{id}/cancel": cancel,
    "POST /session/{id}/cancel": cancel,
  } satisfies Handlers;
}
