/** Where a session is open: in this process, or in a server of this machine, which then is asked in its place. */
import type { Session as RemoteSession } from "@chimera/client";
import { isStoreError } from "@chimera/event-store";
import { type Invocation, type RunningCore, readClientToken, readConfig, resolvePaths } from "@chimera/host";
import { addressOf, listPidfiles } from "@chimera/host/pidfile";
import { isSessionError, type Session } from "@chimera/session";
import { createServer, type Server } from "./server.js";

/** What a command does with a session, wherever that is open. */
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
  const found = await sessions.load(id).catch((error: unknown) => {
    const server = serverHolding(invocation, error);
    if (server === null) throw error;
    return server;
  });
  if (!("url" in found)) return doing.here(found);
  return found.ask((client) => doing.there(client.sessions.open(id)));
}

/** @param error what opening the session threw. Null when no server of this program on this machine is the reason. */
export function serverHolding(invocation: Invocation, error: unknown): Server | null {
  if (!isSessionError(error) || error.code !== "session_claimed" || !isStoreError(error.cause)) return null;
  const { profile, process } = invocation;
  const holder = error.cause.holder?.pid;
  const servers = listPidfiles({ prefix: profile.name, directory: resolvePaths(process.env).run });
  const found = servers.find(({ pid, alive, socket }) => alive && pid === holder && socket === undefined);
  if (!found) return null;
  const url = addressOf(found);
  return createServer(url, readClientToken(invocation, readConfig(invocation), url));
}
