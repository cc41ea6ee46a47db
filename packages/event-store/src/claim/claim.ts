import { randomBytes } from "node:crypto";
import { linkSync, lstatSync, readdirSync, renameSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { StoreError, storageError } from "../errors.js";
import { readRegular } from "../file/regular-file.js";
import { orElse } from "../or-else.js";
import type { Heartbeat } from "./heartbeat.js";
import { describeHolder, type Holder, isProvenDead } from "./identity.js";

/** An exclusive hold on a path. Its files are numbered generations, `path.1`, `path.2`, …; only the highest counts. */
export interface Claim {
  /** The generation: greater than every earlier holder's. */
  readonly fence: number;
  /** True when the former holder did not release the path: it may only seem dead, and still write. */
  readonly isTakeover: boolean;
  /** Checks on the disk. False once another process has taken over. */
  isHeld(): boolean;
  /** Releases the path, so that another process can claim it at once. Idempotent. */
  release(): void;
}

/** How many races to lose before giving up. Another process won each of them, and the error names it. */
const ATTEMPTS = 5;
const STALE_TEMP_MS = 60_000;
/** Far more than a claim file needs. */
const HOLDER_BYTES = 64 * 1024;

/**
 * Takes the claim, or throws StoreError `claimed` with the holder. A provably dead holder loses it at once, any other only after
 * its heartbeat has stood still for 30 s. A process never removes a claim file to take over: it links a complete file to the
 * next generation's name, which succeeds for exactly one process, and the highest name is never unlinked.
 *
 * @example
 * const heartbeat = createHeartbeat(join(root, "beats"));
 * const held = claim(join(root, "job.claim"), { heartbeat });
 * held.release();
 */
export function claim(path: string, options: { readonly heartbeat: Heartbeat }): Claim {
  const { heartbeat } = options;
  try {
    heartbeat.start();
    let holder: Holder | null = null;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const top = highest(listClaim(path).generations);
      holder = top === 0 ? null : readHolder(path, top);
      if (holder !== null && isInTheWay(holder, heartbeat)) break;
      if (take(path, top + 1, heartbeat.self)) return createClaim(path, top + 1, holder !== null);
    }
    throw new StoreError("claimed", `${basename(path)} is held by ${describeHolder(holder ?? undefined)}`, {
      ...(holder && { holder }),
    });
  } catch (error) {
    throw storageError(error, `cannot claim ${path}`);
  }
}

/** Makes the first claim of a session, in a draft directory that no other process sees yet. `path` is its path once the draft has its name. */
export function claimUnseen(unseen: string, path: string, heartbeat: Heartbeat): Claim {
  heartbeat.start();
  writeFileSync(`${unseen}.1`, signed(heartbeat.self), { mode: 0o600, flag: "wx" });
  return createClaim(path, 1, false);
}

/** Removes a claim of `claimUnseen` before the draft has its name. */
export function withdrawUnseen(unseen: string): void {
  unlinkSync(`${unseen}.1`);
}

/**
 * The holder of the path, or null. That process may be dead.
 *
 * @example
 * const holder = claimHolder(join(root, "job.claim"));
 */
export function claimHolder(path: string): Holder | null {
  const top = highest(listClaim(path).generations);
  return top === 0 ? null : readHolder(path, top);
}

/** True while a process that may still live holds the path. */
export function isHeld(path: string, heartbeat: Heartbeat): boolean {
  const holder = claimHolder(path);
  return holder !== null && isInTheWay(holder, heartbeat);
}

// --- internal ---

const UNKNOWN: Omit<Holder, "instance"> = { pid: 0, start: null, boot: null, pidns: null, host: "" };

/** The existing generations of a path, and the paths of its temporary files. */
function listClaim(path: string): { generations: number[]; temps: string[] } {
  const prefix = `${basename(path)}.`;
  const rest = readdirSync(dirname(path))
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length));
  return {
    generations: rest
      .filter((text) => /^[1-9]\d{0,15}$/.test(text))
      .map(Number)
      .filter(Number.isSafeInteger),
    temps: rest.filter((text) => text.startsWith("tmp-")).map((text) => `${path}.${text}`),
  };
}

function highest(generations: readonly number[]): number {
  return generations.reduce((top, one) => Math.max(top, one), 0);
}

/** Null when the generation was released, is gone, or lost its content in a crash. */
function readHolder(path: string, generation: number): Holder | null {
  let text: string;
  try {
    text = readRegular(`${path}.${generation}`, HOLDER_BYTES) ?? "not a claim";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  // Only complete files are linked, so an empty one lost its content in a crash of the machine, and its owner died in that crash.
  if (/^\0*$/.test(text)) return null;
  try {
    const value = JSON.parse(text) as Partial<Holder> & { released?: boolean };
    if (value.released === true) return null;
    if (typeof value.instance === "string" && Number.isInteger(value.pid)) return value as Holder;
  } catch {
    // A damaged claim names no process that could be proven dead, so the heartbeat of a name made from the generation decides.
  }
  return { ...UNKNOWN, instance: `unreadable-${generation}` };
}

function isInTheWay(holder: Holder, heartbeat: Heartbeat): boolean {
  if (holder.instance === heartbeat.self.instance) return true;
  if (holder.pid > 0 && isProvenDead(holder, heartbeat.self)) return false;
  return !heartbeat.hasStopped(holder.instance);
}

function take(path: string, generation: number, self: Holder): boolean {
  const name = `${path}.${generation}`;
  const temp = writeTemp(path, signed(self));
  try {
    linkSync(temp, name);
  } catch (error) {
    // On a network file system the reply may be lost although the link was made.
    if (statSync(temp).nlink !== 2) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw error;
    }
  } finally {
    discard(temp);
  }
  const { generations, temps } = listClaim(path);
  if (highest(generations) > generation) {
    // This generation came from an outdated listing and is not the highest, so it may be removed.
    discard(name);
    return false;
  }
  for (const old of generations) if (old < generation - 1) discard(`${path}.${old}`);
  temps.forEach(removeIfStale);
  return true;
}

function createClaim(path: string, generation: number, isTakeover: boolean): Claim {
  let released = false;
  return {
    fence: generation,
    isTakeover,
    isHeld: () => !released && highest(listClaim(path).generations) === generation,
    release() {
      if (released) return;
      released = true;
      // When the directory is gone or not writable, others can take over once this process is provably dead.
      orElse(() => renameSync(writeTemp(path, '{"released":true}'), `${path}.${generation}`), undefined);
    },
  };
}

function signed(self: Holder): string {
  return JSON.stringify({ ...self, since: new Date().toISOString() });
}

function writeTemp(path: string, text: string): string {
  const temp = `${path}.tmp-${randomBytes(6).toString("hex")}`;
  writeFileSync(temp, text, { mode: 0o600, flag: "wx" });
  return temp;
}

/** Removes the temporary file of a process that died between two calls. */
function removeIfStale(temp: string): void {
  const age = Date.now() - (lstatSync(temp, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY);
  if (age > STALE_TEMP_MS) discard(temp);
}

function discard(path: string): void {
  // Another process, or the file's owner, may have removed it first.
  orElse(() => unlinkSync(path), undefined);
}
