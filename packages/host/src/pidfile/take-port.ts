/** Ensures one server per port: it binds the socket first, then claims and writes the pidfile. */

import { orElse } from "@chimera/acp-schema/lenient";
import { isHostError } from "../errors.js";
import type { Log } from "../log/log.js";
import { listOwned } from "./list.js";
import { claimantOf, type Owner, type PidfilePlace, runDirectory, slotOf } from "./record.js";
import { alreadyRunning, type Pidfile, type WritePidfileOptions, writePidfile } from "./write.js";

/** How often to try again: a server that starts or stops holds the port for a moment without a record. */
const RETRIES = 40;
const RETRY_MS = 50;

export interface Bound {
  readonly port: number;
  close(): Promise<void>;
}

/** Throws HostError `already_running` when a recorded server has the port, and the socket's error when another program has it. */
export async function takePort<T extends Bound>(
  bind: () => Promise<T>,
  about: WritePidfileOptions,
  log: Log,
): Promise<{ readonly bound: T; readonly pidfile: Pidfile | null }> {
  // For a Unix socket, the claim decides which server may replace the socket of a dead one, so it comes first. For a port, the system decides.
  const first = about.socket === undefined ? null : await record(about, log);
  const bound = await bindRetrying(bind, about).catch((error) => {
    first?.remove();
    throw error;
  });
  if (about.socket !== undefined) return { bound, pidfile: first };
  try {
    return { bound, pidfile: await record({ ...about, port: bound.port }, log) };
  } catch (error) {
    await bound.close();
    throw error;
  }
}

/** Throws HostError `already_running` when a recorded server on this system has the port. */
export function refuseSecond(about: WritePidfileOptions): void {
  refuse(about, (place) => listOwned({ ...place, port: about.port })[0]?.owner ?? null);
}

// --- internal ---

/** Writes the pidfile; null when that fails: the server still runs, but other commands cannot find it. */
async function record(about: WritePidfileOptions, log: Log): Promise<Pidfile | null> {
  try {
    return await writePidfile(about);
  } catch (error) {
    // Without its file, nobody would know a token that the server made itself.
    if (isHostError(error) || about.keepsToken) throw error;
    log.warn("no pidfile", { error: String(error) });
    return null;
  }
}

function refuse(about: WritePidfileOptions, find: (place: PidfilePlace) => Owner): void {
  const { directory, prefix } = about;
  // When the directory cannot be read, writing the pidfile will report it.
  const owner = orElse(() => find({ directory: runDirectory(directory), prefix, slot: slotOf(about) }), null);
  if (owner === null || owner === "elsewhere") return;
  throw alreadyRunning(about, owner.pid);
}

async function bindRetrying<T extends Bound>(bind: () => Promise<T>, about: WritePidfileOptions): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await bind();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
      if (about.socket === undefined) refuseSecond(about);
      if (retries === RETRIES) {
        // A slowly starting server has its claim, but no record yet.
        if (about.socket === undefined) refuse(about, claimantOf);
        throw error;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
