/** The content and path of a pidfile: `<run>/<prefix>-<port>.pid`, for a Unix socket `<run>/<prefix>-unix-<digest>.pid`. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseJson } from "@chimera/acp-schema/lenient";
import { claimHolder, findHolder, identify, type ProcessIdentity } from "@chimera/event-store/claim";
import { resolvePaths } from "../paths.js";

export interface PidRecord {
  readonly pid: number;
  readonly host: string;
  /** 0 for a server on a Unix socket. */
  readonly port: number;
  /** The path of that socket. */
  readonly socket?: string;
  readonly prefix: string;
  /** `sha256:<hex>` of the master token; null without one. The token itself is not in this file. */
  readonly auth_token_hash: string | null;
  /** Seconds since the epoch. */
  readonly started_at: number;
  readonly scheme: "http" | "https";
}

export interface PidfilePlace {
  readonly directory: string;
  readonly prefix: string;
  /** The port, or `unix-` and a digest of the socket's path. */
  readonly slot: string;
}

export function slotOf({ port, socket }: Pick<PidRecord, "port" | "socket">): string {
  return socket === undefined ? String(port) : `unix-${createHash("sha256").update(socket).digest("hex").slice(0, 16)}`;
}

/**
 * The path of the pidfile; of the file with the `token` that the server made, for programs of its own user; or of the `claim` that makes
 * one process the owner of the pidfile while it lives.
 */
export function pathOf({ directory, prefix, slot }: PidfilePlace, kind: "pid" | "token" | "claim"): string {
  return join(directory, `${prefix}-${slot}.${kind}`);
}

/** `otter-5173.pid` -> `5173`; null for the name of any other file. */
export function slotIn(name: string, prefix: string): string | null {
  const slot = name.startsWith(`${prefix}-`) && name.endsWith(".pid") ? name.slice(prefix.length + 1, -4) : "";
  const isPort = /^(0|[1-9]\d{0,4})$/.test(slot) && Number(slot) <= 65535;
  return isPort || /^unix-[0-9a-f]{16}$/.test(slot) ? slot : null;
}

/** Reads a pidfile; null when there is none. A file that is not valid reads as a record with pid 0. */
export function readRecord(place: PidfilePlace): PidRecord | null {
  let text: string;
  try {
    text = readFileSync(pathOf(place, "pid"), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    text = "";
  }
  const { pid, host, socket, auth_token_hash, started_at, scheme }: Partial<Record<keyof PidRecord, unknown>> = Object(
    parseJson(text),
  );
  return {
    pid: Number.isSafeInteger(pid) ? (pid as number) : 0,
    host: typeof host === "string" ? host : "",
    port: Number(place.slot) || 0,
    ...(typeof socket === "string" && { socket }),
    prefix: place.prefix,
    auth_token_hash: typeof auth_token_hash === "string" ? auth_token_hash : null,
    started_at: typeof started_at === "number" ? started_at : 0,
    scheme: scheme === "https" ? "https" : "http",
  };
}

export function hashToken(token: string | undefined): string | null {
  return token ? `sha256:${createHash("sha256").update(token).digest("hex")}` : null;
}

/** The directory of pidfiles: the given one or the default. */
export function runDirectory(directory: string | undefined): string {
  return directory === undefined ? resolvePaths(process.env).run : resolve(directory);
}

/** The process that owns a pidfile; "elsewhere" when it runs on another machine or in another container that shares the directory. */
export type Owner = ProcessIdentity | "elsewhere" | null;

/** The owner of a record: only a process that provably wrote it. */
export function ownerOf(place: PidfilePlace, record: PidRecord): Owner {
  const holder = claimHolder(pathOf(place, "claim"));
  if (holder === null) return ifOlder(identify(record.pid), record);
  if (holder.pid !== record.pid) return null;
  const found = findHolder(holder);
  return holder.start === null && found !== "elsewhere" ? ifOlder(found, record) : found;
}

/** The process that holds the claim, even before it has written its record. */
export function claimantOf(place: PidfilePlace): Owner {
  const holder = claimHolder(pathOf(place, "claim"));
  return holder === null ? null : findHolder(holder);
}

// --- internal ---

/** The tolerated error of the wall clock. */
const CLOCK_SLACK_S = 2;

/** Without a claim that has the start time, a process younger than the record has a reused pid and is not the owner. */
function ifOlder(found: ProcessIdentity | null, record: PidRecord): Owner {
  // Without a claim, pid 1 may be init or a server that is the first process of its container, so it is never the owner.
  if (found === null || found.startedAt === null || found.pid === 1) return null;
  return found.startedAt <= record.started_at + CLOCK_SLACK_S ? found : null;
}
