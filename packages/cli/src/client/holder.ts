/** The server that has a session open: what is asked of the session here is asked there. */
import { isStoreError } from "@chimera/event-store";
import { type Invocation, readConfig, readServerToken, resolvePaths } from "@chimera/host";
import { listPidfiles, type PidfileEntry } from "@chimera/host/pidfile";
import { isSessionError } from "@chimera/session";
import { createServer, type Server } from "./server.js";

/** @param error what opening the session threw. Null when no server of this program on this machine is the reason. */
export function serverHolding(invocation: Invocation, error: unknown): Server | null {
  if (!isSessionError(error) || error.code !== "session_claimed" || !isStoreError(error.cause)) return null;
  const { profile, process } = invocation;
  const holder = error.cause.holder?.pid;
  const servers = listPidfiles({ prefix: profile.name, directory: resolvePaths(process.env).run });
  const found = servers.find(({ pid, alive }) => alive && pid === holder);
  return found ? createServer(urlOf(found), readServerToken(invocation, readConfig(invocation))) : null;
}

// --- internal ---

/** A server on every interface is also on loopback. */
const LOOPBACK: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

function urlOf({ scheme, host, port }: PidfileEntry): string {
  const name = LOOPBACK[host] ?? host;
  return `${scheme}://${name.includes(":") ? `[${name}]` : name}:${port}`;
}
