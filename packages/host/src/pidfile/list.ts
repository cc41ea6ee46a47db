/** Every recorded server, whether it still runs or not. */
import { readdirSync } from "node:fs";
import { hostname } from "node:os";
import type { Holder } from "@chimera/event-store";
import { type Owner, ownerOf, type PidRecord, pathOf, readRecord, runDirectory, slotIn } from "./record.js";

export interface ListOptions {
  readonly prefix: string;
  /** Only the server on this port. */
  readonly port?: number;
  /** @defaultValue `run` in `$CHIMERA_HOME` */
  readonly directory?: string;
}

export interface PidfileEntry extends PidRecord {
  readonly path: string;
  /** False when the process that wrote the file has ended, even if another process has its pid now. */
  readonly alive: boolean;
}

/** The URL of a recorded server on this machine: loopback for a server on every interface. */
export function addressOf({ scheme, host, port }: Pick<PidRecord, "scheme" | "host" | "port">): string {
  const name = LOOPBACK[host] ?? host;
  return `${scheme}://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

/** The recorded servers by port, sockets last. A missing directory counts as empty. */
export function listPidfiles(options: ListOptions): PidfileEntry[] {
  return listOwned(options).map(({ owner, entry }) => ({ ...entry, alive: owner !== null }));
}

/** The servers of a program that run and listen on a port. */
export function runningServers(prefix: string, directory: string): PidfileEntry[] {
  return listPidfiles({ prefix, directory }).filter(({ alive, socket }) => alive && socket === undefined);
}

/** The recorded servers with their processes, for a caller that signals them. */
export function listOwned(
  options: ListOptions,
): { readonly entry: Omit<PidfileEntry, "alive">; readonly owner: Owner }[] {
  const directory = runDirectory(options.directory);
  const { prefix } = options;
  return namesIn(directory)
    .flatMap((name) => slotIn(name, prefix) ?? [])
    .filter((slot) => options.port === undefined || slot === String(options.port))
    .sort((a, b) => (Number(a) || Number.MAX_VALUE) - (Number(b) || Number.MAX_VALUE))
    .flatMap((slot) => {
      const place = { directory, prefix, slot };
      const record = readRecord(place);
      return record === null
        ? []
        : [{ entry: { ...record, path: pathOf(place, "pid") }, owner: ownerOf(place, record) }];
    });
}

/** Tells a person how to continue a session that another process holds. */
export function howToJoin({ program, pid, host }: Pick<Holder, "program" | "pid" | "host">, run: string): string {
  const servers = program === undefined || host !== hostname() ? [] : runningServers(program, run);
  const found = servers.find((server) => server.pid === pid);
  if (!found) return "go on there, or try again when it has been idle for a while: an idle session is let go";
  return `join it with ${program} acp --connect ${addressOf(found)} or over HTTP at ${addressOf(found)}`;
}

// --- internal ---

const LOOPBACK: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
