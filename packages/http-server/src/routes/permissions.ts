/** Answers to permission requests. The first one wins, whatever transport it comes from. */
import type { Decision } from "@chimera/acp-schema/events";
import type { PermissionReply, ToolApproveReply } from "@chimera/acp-schema/http";
import { HttpError } from "../errors.js";
import { readBody } from "../request/body.js";
import { type Handlers, type Parts, pathPart } from "./route.js";

export function permissionRoutes({ openSession }: Parts) {
  const answer = async (id: string, permissionId: string, decision: Decision) => {
    const session = await openSession(id);
    const options = session.openPermissions.get(permissionId)?.options;
    if (options && !options.includes(decision)) {
      throw new HttpError(400, "invalid_decision", `choose one of ${options.join(", ")}`);
    }
    await session.answer(permissionId, decision);
  };
  return {
    "POST /sessions/{id}/permissions/{pid}": async (c) => {
      const { decision } = await readBody(c, "POST /sessions/{id}/permissions/{pid}", { decision: "invalid_decision" });
      await answer(pathPart(c, "id"), pathPart(c, "pid"), decision);
      return c.json({ resolved: true, decision } satisfies PermissionReply);
    },
    "POST /tool/approve": async (c) => {
      const missing = "missing_session_id_or_permission_id";
      const codes = { session_id: missing, permission_id: missing, approved: "missing_approved" };
      const { session_id, permission_id, approved } = await readBody(c, "POST /tool/approve", codes);
      await answer(session_id, permission_id, approved ? "allow" : "deny");
      return c.json({ resolved: true, approved } satisfies ToolApproveReply);
    },
  } satisfies Handlers;
}
