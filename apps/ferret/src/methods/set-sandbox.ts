/** `session/setSandbox`: reads the mode; asking for another is answered with what it takes. */
import { agentMethods } from "@chimera/acp-schema/ferret";
import { type ConnectionContext, rowsOf } from "@chimera/acp-server";
import type { Methods } from "@chimera/ndjson-rpc";
import type { SandboxMode } from "@chimera/sandbox";

export function setSandbox(context: ConnectionContext, modeIn: (cwd: string) => SandboxMode): Methods {
  return rowsOf(agentMethods, {
    "session/setSandbox": async ({ sessionId, mode: requested }) => {
      const { sessions } = await context.engine();
      const mode = modeIn((await sessions.load(sessionId)).cwd);
      if (requested === undefined) return { mode };
      return { mode, requested, restartRequired: true, message: "restart required" };
    },
  });
}
