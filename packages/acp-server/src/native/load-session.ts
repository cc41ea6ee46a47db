/** The session a native client names, live or stored. */
import { ErrorCode, RpcError } from "@chimera/ndjson-rpc";
import { isSessionError, type Session } from "@chimera/session";
import type { ConnectionContext } from "../context.js";

/** An unknown session is the caller's fault here; everything else stays what it was. */
export async function loadSession({ engine }: Pick<ConnectionContext, "engine">, sessionId: string): Promise<Session> {
  const { sessions } = await engine();
  return sessions.load(sessionId).catch((error: unknown) => {
    if (!isSessionError(error) || error.code !== "session_not_found") throw error;
    throw new RpcError(ErrorCode.invalidParams, error.message, { sessionId });
  });
}
