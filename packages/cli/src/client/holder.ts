/** Works on a session wherever it is open: in this process, or in a server on this machine. */
import type { Session as RemoteSession } from "@chimera/client";
import { type Invocation, type RunningCore, readClientToken, readConfig, resolvePaths } from "@chimera/host";
import { addressOf, runningServers } from "@chimera/host/pidfile";
import { isSessionError, type Session } from "@chimera/session";
import { CliError } from "../errors.js";
import { createServer, type Server } from "./remote.js";

/** The work of a command on a session of this process, or on one of a server. */
export interface Doing<T> {
  here(session: Session): T | Promise<T>;
  there(session: RemoteSession): Promise<T>;
}

export async function whereOpen<T>(
  invocation: Invocation,
  { sessions }: RunningCore,
  id: string,
  doing: Doing<T>,
): Promise<T> {
  const found = await sessions.load(id).catch((error: unknown) => serverHolding(invocation, error));
  if (!("url" in found)) return doing.here(found);
  return found.ask((client) => doing.there(client.sessions.open(id)));
}

/** The server on this machine that holds a session. @param error the error of opening it, which is rethrown when no server holds it */
export function serverHolding(invocation: Invocation, error: unknown): Server {
  if (!isSessionError(error) || error.code !== "session_claimed") throw error;
  const { profile, process } = invocation;
  const { holder, sessionId } = error;
  const servers = runningServers(profile.name, resolvePaths(process.env).run);
  const found = servers.find(({ pid }) => pid === holder?.pid);
  if (!found) {
    const who = holder?.pid ? ` (${holder.program ?? profile.name}, pid ${holder.pid}, host ${holder.host})` : "";
    const said = `session ${sessionId ?? ""} is open in another terminal${who}: go on there, or leave it first`;
    throw new CliError("conflict", said, { cause: error });
  }
  const url = addressOf(found);
  return createServer(url, readClientToken(invocation, readConfig(invocation), url));
}
