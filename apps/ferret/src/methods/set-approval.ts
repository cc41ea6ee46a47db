/** `session/setApproval`: switches the preset; every client of the session is told. */
import { agentMethods } from "@chimera/acp-schema/ferret";
import { type ConnectionContext, rowsOf } from "@chimera/acp-server";
import type { Methods } from "@chimera/ndjson-rpc";
import type { Approvals } from "../approval/approvals.js";

export function setApproval(context: ConnectionContext, approvals: Approvals): Methods {
  return rowsOf(agentMethods, {
    "session/setApproval": async ({ sessionId, preset }) => {
      const { sessions } = await context.engine();
      return approvals.switch(await sessions.load(sessionId), preset, context.origin);
    },
  });
}
