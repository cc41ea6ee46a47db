/** `session/setApproval`: switches the preset; every client of the session is told. */
import { agentMethods, type SetApprovalRequest, type SetApprovalResponse } from "@chimera/acp-schema/ferret";
import type { ConnectionContext } from "@chimera/acp-server";
import type { Methods } from "@chimera/ndjson-rpc";
import type { Approvals } from "../approval/approvals.js";

export function setApproval(context: ConnectionContext, approvals: Approvals): Methods {
  const handle = async ({ sessionId, preset }: SetApprovalRequest): Promise<SetApprovalResponse> => {
    const { sessions } = await context.engine();
    return approvals.switch(await sessions.load(sessionId), preset, context.origin);
  };
  return { "session/setApproval": { params: agentMethods["session/setApproval"].params, handle } as Methods[string] };
}
