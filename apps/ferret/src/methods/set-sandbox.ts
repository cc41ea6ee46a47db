/** `session/setSandbox`: reads the mode; asking for another is answered with what it takes. */
import { agentMethods, type SetSandboxRequest, type SetSandboxResponse } from "@chimera/acp-schema/ferret";
import type { ConnectionContext } from "@chimera/acp-server";
import type { Methods } from "@chimera/ndjson-rpc";
import type { SandboxMode } from "@chimera/sandbox";

export function setSandbox(context: ConnectionContext, modeIn: (cwd: string) => SandboxMode): Methods {
  const handle = async ({ sessionId, mode: requested }: SetSandboxRequest): Promise<SetSandboxResponse> => {
    const { sessions } = await context.engine();
    const mode = modeIn((await sessions.load(sessionId)).cwd);
    if (requested === undefined) return { mode };
    return { mode, requested, restartRequired: true, message: "restart required" };
  };
  return { "session/setSandbox": { params: agentMethods["session/setSandbox"].params, handle } as Methods[string] };
}
