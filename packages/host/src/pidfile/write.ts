/** Records a running server as the only one on its port while this process lives. */
import { rmSync } from "node:fs";
import { isStoreError } from "@chimera/event-store";
import { type Claim, claim, createHeartbeat, type Heartbeat, replaceFileSync } from "@chimera/event-store/claim";
import { HostError } from "../errors.js";
import { makeDirectory } from "../paths.js";
import {
  hashToken,
  ownerOf,
  type PidfilePlace,
  type PidRecord,
  pathOf,
  readRecord,
  runDirectory,
  slotOf,
} from "./record.js";

export interface WritePidfileOptions {
  readonly prefix: string;
  /** The port that is bound already. */
  readonly port: number;
  readonly host: string;
  /** The path of a Unix socket, instead of a port. */
  readonly socket?: string;
  /** @defaultValue "http" */
  readonly scheme?: PidRecord["scheme"];
  /** Only its hash is in the pidfile. */
  readonly authToken?: string;
  /** True when the server made the token itself: it is then stored beside the pidfile, readable only for this user. @defaultValue false */
  readonly keepsToken?: boolean;
  /** @defaultValue `run` in `$CHIMERA_HOME` */
  readonly directory?: string;
}

export interface Pidfile {
  readonly path: string;
  /** The file of a token that the server made. */
  readonly tokenPath: string;
  readonly record: PidRecord;
  /** Removes the file if this process still owns it, and releases the claim. Idempotent. Call it before the socket closes. */
  remove(): void;
}

/** How long to wait for another process that only cleans up after a dead server. */
const BUSY_MS = 2000;
/** How long it takes to find out that a server in another container or on another machine is dead. */
const ELSEWHERE_MS = 32_000;
const RETRY_MS = 50;

/** Writes the pidfile, also over that of a crashed server. Throws HostError `already_running`. */
export async function writePidfile(options: WritePidfileOptions): Promise<Pidfile> {
  const place: PidfilePlace = {
    directory: runDirectory(options.directory),
    prefix: options.prefix,
    slot: slotOf(options),
  };
  makeDirectory(place.directory);
  const heartbeat = createHeartbeat(place.directory);
  try {
    const held = await takeClaim(place, options, heartbeat);
    return create(place, options, held, heartbeat);
  } catch (error) {
    heartbeat.stop();
    throw error;
  }
}

export function alreadyRunning(
  { port, socket }: Pick<WritePidfileOptions, "port" | "socket">,
  pid: number,
  cause?: unknown,
): HostError {
  const where = socket === undefined ? `port ${port}` : `socket ${socket}`;
  return new HostError("already_running", `already running on ${where}, PID ${pid}`, { pid, cause });
}

/** Removes a pidfile that no process owns. Returns false when a process owns it or is claiming it. */
export function reapPidfile(place: PidfilePlace): boolean {
  const heartbeat = createHeartbeat(place.directory);
  try {
    const held = claim(pathOf(place, "claim"), { heartbeat });
    rmSync(pathOf(place, "pid"), { force: true });
    rmSync(pathOf(place, "token"), { force: true });
    held.release();
    return true;
  } catch {
    return false;
  } finally {
    heartbeat.stop();
  }
}

// --- internal ---

async function takeClaim(place: PidfilePlace, options: WritePidfileOptions, heartbeat: Heartbeat): Promise<Claim> {
  const started = performance.now();
  for (;;) {
    try {
      return claim(pathOf(place, "claim"), { heartbeat });
    } catch (error) {
      if (!isStoreError(error) || error.code !== "claimed") throw error;
      const pid = error.holder?.pid ?? 0;
      const patience = patienceWith(place, pid);
      if (performance.now() - started >= patience) {
        throw alreadyRunning(options, pid, error);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** How many milliseconds to wait for a claim: none when its holder is a live server of this system. */
function patienceWith(place: PidfilePlace, holder: number): number {
  const record = readRecord(place);
  const owner = record?.pid === holder ? ownerOf(place, record) : null;
  if (owner === null) return BUSY_MS;
  return owner === "elsewhere" ? ELSEWHERE_MS : 0;
}

function create(place: PidfilePlace, options: WritePidfileOptions, held: Claim, heartbeat: Heartbeat): Pidfile {
  const path = pathOf(place, "pid");
  const record: PidRecord = {
    pid: process.pid,
    host: options.host,
    port: options.port,
    ...(options.socket !== undefined && { socket: options.socket }),
    prefix: place.prefix,
    auth_token_hash: hashToken(options.authToken),
    started_at: Date.now() / 1000,
    scheme: options.scheme ?? "http",
  };
  let removed = false;
  const remove = () => {
    if (removed) return;
    removed = true;
    try {
      if (held.isHeld() && readRecord(place)?.pid === record.pid) {
        rmSync(path, { force: true });
        rmSync(pathOf(place, "token"), { force: true });
      }
    } catch {
      // The whole directory was removed, including the file.
    }
    held.release();
    heartbeat.stop();
  };
  try {
    if (options.keepsToken && options.authToken) replaceFileSync(pathOf(place, "token"), `${options.authToken}\n`);
    else rmSync(pathOf(place, "token"), { force: true });
    replaceFileSync(path, `${JSON.stringify(record, null, 2)}\n`);
  } catch (error) {
    remove();
    throw error;
  }
  return { path, tokenPath: pathOf(place, "token"), record, remove };
}
