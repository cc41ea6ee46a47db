/** One server per port: the socket is bound first, then the pidfile claimed and written. */
import { HostError, isHostError } from "../errors.js";
import type { Log } from "../log/log.js";
import { listOwned } from "../pidfile/list.js";
import { claimantOf, type Owner } from "../pidfile/owner.js";
import type { PidfilePlace } from "../pidfile/record.js";
import { runDirectory } from "../pidfile/run-directory.js";
import { type Pidfile, type WritePidfileOptions, writePidfile } from "../pidfile/write.js";

/**
 * How often we look again, for a server of ours that is just starting or stopping holds the port without a record: two seconds,
 * and longer on a machine so busy that it is as slow as we are.
 */
const RETRIES = 40;
const RETRY_MS = 50;

export interface Bound {
  readonly port: number;
  close(): Promise<void>;
}

/** Throws HostError `already_running` when a server of ours has the port, and what the socket threw for any other program. */
export async function takePort<T extends Bound>(
  bind: () => Promise<T>,
  about: WritePidfileOptions,
  log: Log,
): Promise<{ readonly bound: T; readonly pidfile: Pidfile | null }> {
  const bound = await bindOurs(bind, about);
  try {
    return { bound, pidfile: await writePidfile({ ...about, port: bound.port }) };
  } catch (error) {
    if (isHostError(error)) {
      await bound.close();
      throw error;
    }
    // A home that cannot be written is no reason not to serve, but nobody can find the server there.
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
    // A directory that cannot be read is told when the pidfile is to be written.
  }
  if (owner === null || owner === "elsewhere") return;
  throw new HostError("already_running", `already running on port ${port}, PID ${owner.pid}`, { pid: owner.pid });
}

async function bindOurs<T extends Bound>(bind: () => Promise<T>, about: WritePidfileOptions): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await bind();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
      refuseSecond(about);
      if (retries === RETRIES) {
        // One that is slow to start has its claim before its record.
        refuse(about, claimantOf);
        throw error;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
