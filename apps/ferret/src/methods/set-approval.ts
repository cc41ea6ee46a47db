/** `session/setApproval`: switches the preset; every client of the session is told. */
import { agentMethods, type SetApprovalRequest, type SetApprovalResponse } from "@chimera/acp-schema/ferret";
import { type ConnectionContext, loadSession } from "@chimera/acp-server";
import type { Methods } from "@chimera/ndjson-rpc";
import { switchPreset } from "../approval/preset.js";

export function setApproval(context: ConnectionContext): Methods {
  const handle = async ({ sessionId, preset }: SetApprovalRequest): Promise<SetApprovalResponse> =>
    switchPreset(await loadSession(context, sessionId), preset, context.origin);
  return { "session/setApproval": { params: agentMethods["session/setApproval"].params, handle } as Methods[string] };
}
