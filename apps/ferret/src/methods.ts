/** The methods of ferret's dialect, loaded with the first call of one, because their schemas are large. */
import { agentMethods, type BridgeStatusResponse, type SetApprovalResponse } from "@chimera/acp-schema/ferret";
import { type ConnectionContext, type Rows, rowsOf } from "@chimera/acp-server";
import type { Session } from "@chimera/session";
import type { ApprovalPreset, ProjectBounds } from "./settings.js";

type SwitchApproval = (session: Session, preset: ApprovalPreset, origin?: string) => Promise<SetApprovalResponse>;

/** Changes the preset. Every client of the session sees the change. */
export function setApproval(context: ConnectionContext, switchTo: SwitchApproval): Rows {
  const traits = { "session/setApproval": { remote: ["own", "narrower_approval"] } } as const;
  return rowsOf(agentMethods, traits, {
    "session/setApproval": async ({ sessionId, preset }) => {
      const { sessions } = await context.core();
      return switchTo(await sessions.load(sessionId), preset, context.origin);
    },
  });
}

/** Returns the mode. A request for another mode is answered with "restart required". */
export function setSandbox(context: ConnectionContext, modeIn: ProjectBounds["sandbox"]): Rows {
  const traits = { "session/setSandbox": { remote: ["own"] } } as const;
  return rowsOf(agentMethods, traits, {
    "session/setSandbox": async ({ sessionId, mode: requested }) => {
      const { sessions } = await context.core();
      const mode = modeIn((await sessions.load(sessionId)).cwd);
      if (requested === undefined) return { mode };
      return { mode, requested, restartRequired: true, message: "restart required" };
    },
  });
}

/** Returns whether a remote console is attached to the session, and its address. */
export function bridgeStatus(status: (sessionId?: string) => BridgeStatusResponse): Rows {
  const traits = { "session/bridgeStatus": { remote: [] } } as const;
  return rowsOf(agentMethods, traits, { "session/bridgeStatus": ({ sessionId }) => status(sessionId) });
}
