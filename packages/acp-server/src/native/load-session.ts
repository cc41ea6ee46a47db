/** The session a native client names: the one this connection has open, or the stored one. */
import { ErrorCode, RpcError } from "@chimera/ndjson-rpc";
import { isSessionError, type Session } from "@chimera/session";
import type { ConnectionContext } from "../context.js";

/** An unknown session is the caller's fault here; everything else stays what it was. */
export async function loadSession(
  { engine, open }: Pick<ConnectionContext, "engine" | "open">,
  sessionId: string,
): Promise<Session> {
  const { sessions } = await engine();
  return (
    open.get(sessionId) ??
    sessions.load(sessionId).catch((error: unknown) => {
      if (!isSessionError(error) || error.code !== "session_not_found") throw error;
      throw new RpcError(ErrorCode.invalidParams, error.message, { sessionId });
    })
  );
}
