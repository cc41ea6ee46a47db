/** One server per port: the socket is bound first, then the pidfile claimed and written. */
import { HostError, isHostError } from "../errors.js";
import type { Log } from "../log/log.js";
import { listOwned } from "./list.js";
import { claimantOf, type Owner } from "./owner.js";
import { type PidfilePlace, runDirectory } from "./record.js";
import { type Pidfile, type WritePidfileOptions, writePidfile } from "./write.js";

/** How often to look again: a server that starts or stops holds the port for a moment without a record. */
const RETRIES = 40;
const RETRY_MS = 50;

export interface Bound {
  readonly port: number;
  close(): Promise<void>;
}

/** Throws HostError `already_running` when a recorded server has the port, and what the socket threw when any other program has it. */
export async function takePort<T extends Bound>(
  bind: () => Promise<T>,
  about: WritePidfileOptions,
  log: Log,
): Promise<{ readonly bound: T; readonly pidfile: Pidfile | null }> {
  const bound = await bindRetrying(bind, about);
  try {
    return { bound, pidfile: await writePidfile({ ...about, port: bound.port }) };
  } catch (error) {
    // A token that nobody can find would lock everybody out.
    if (isHostError(error) || about.keepsToken) {
      await bound.close();
      throw error;
    }
    // The server works without a pidfile, but nobody finds it by one.
    log.warn("no pidfile", { error: String(error) });
    return { bound, pidfile: null };
  }
}

/** Throws HostError `already_running` when a server is recorded on the port and lives on this system. */
export function refuseSecond(about: WritePidfileOptions): void {
  refuse(about, (place) => listOwned(place)[0]?.owner ?? null);
}

// --- internal ---

function refuse({ prefix, port, directory }: WritePidfileOptions, find: (place: PidfilePlace) => Owner): void {
  let owner: Owner = null;
  try {
    owner = find({ directory: runDirectory(directory), prefix, port });
  } catch {
    // Writing the pidfile says that the directory cannot be read.
  }
  if (owner === null || owner === "elsewhere") return;
  throw new HostError("already_running", `already running on port ${port}, PID ${owner.pid}`, { pid: owner.pid });
}

async function bindRetrying<T extends Bound>(bind: () => Promise<T>, about: WritePidfileOptions): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await bind();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
      refuseSecond(about);
      if (retries === RETRIES) {
        // A server that is slow to start has its claim before its record.
        refuse(about, claimantOf);
        throw error;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
