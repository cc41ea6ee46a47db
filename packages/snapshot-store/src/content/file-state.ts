/** The state of a path: nothing, a file, a link, a directory, or something that cannot be stored. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, type Stats } from "node:fs";
import { errnoOf, orElse } from "../errors.js";
import type { Steps } from "../pacer.js";
import { sha256 } from "./blobs.js";
import { readingAtMost } from "./pieces.js";

export type SkipReason =
  | "too_large"
  | "unreadable"
  | "not_a_regular_file"
  | "quota"
  | "time_limit"
  | "outside_workspace"
  | "own_data"
  | "moved_from_untracked"
  | "ignored_before"
  | "interrupted_command"
  | "blob_missing";

/** A state that undo can restore. */
export type StoredState =
  | { readonly kind: "absent" }
  | { readonly kind: "file"; readonly sha: string; readonly mode: number }
  | { readonly kind: "link"; readonly sha: string; readonly mode: number; readonly target: string };

export type FileState =
  | StoredState
  | { readonly kind: "directory"; readonly mode: number }
  | { readonly kind: "skipped"; readonly reason: SkipReason };

export interface Observed {
  readonly state: FileState;
  /** The content of a file, or the target of a link. */
  readonly bytes: Buffer | null;
  readonly stat: Stats | null;
}

export const ABSENT = { kind: "absent" } as const;
const PERMISSIONS = 0o7777;
/** Non-blocking, because opening a fifo in a file's place would otherwise hang. */
const OPEN_TO_READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Observes a path without following a link, and reads at most `maxBytes`, piece by piece. */
export function* observing(address: string | Buffer, maxBytes: number): Steps<Observed> {
  let stat: Stats | undefined;
  try {
    stat = lstatSync(address, { throwIfNoEntry: false });
  } catch (error) {
    if (isGone(error)) return { state: ABSENT, bytes: null, stat: null };
    return { state: { kind: "skipped", reason: "unreadable" }, bytes: null, stat: null };
  }
  if (stat === undefined) return { state: ABSENT, bytes: null, stat: null };
  if (stat.isDirectory()) return { state: { kind: "directory", mode: stat.mode & PERMISSIONS }, bytes: null, stat };
  if (stat.isSymbolicLink()) return observeLink(address, stat);
  if (!stat.isFile()) return skipped("not_a_regular_file", stat);
  if (stat.size > maxBytes) return skipped("too_large", stat);
  return yield* observingFile(address, stat, maxBytes);
}

/** The content to store; null when there is none. */
export function contentOf({ state, bytes }: Pick<Observed, "state" | "bytes">): { sha: string; bytes: Buffer } | null {
  return hasContent(state) && bytes !== null ? { sha: state.sha, bytes } : null;
}

/** The result of `lstat`; null when the path does not exist or cannot be checked. */
export function statIfAny(address: string | Buffer): Stats | null {
  return orElse(() => lstatSync(address, { throwIfNoEntry: false }) ?? null, null);
}

/** The fields of a file that show without reading it that it is unchanged. */
type Stamp = Pick<Stats, "size" | "mtimeMs" | "ctimeMs" | "ino">;

export function sameStamp(a: Stamp, b: Stamp): boolean {
  return a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs && a.size === b.size && a.ino === b.ino;
}

/** True when both states have the same content; modes are not compared. */
export function sameContent(a: FileState, b: FileState): boolean {
  if (isAbsentAsFile(a) && isAbsentAsFile(b)) return true;
  if (a.kind === "file" && b.kind === "file") return a.sha === b.sha;
  return a.kind === "link" && b.kind === "link" && a.sha === b.sha;
}

/** True when both states have the same content and mode. */
export function sameState(a: FileState, b: FileState): boolean {
  return sameContent(a, b) && modeOf(a) === modeOf(b);
}

/** The mode of a file; null for anything else, whose mode is not restored. */
export function modeOf(state: FileState): number | null {
  return state.kind === "file" ? state.mode : null;
}

/** True for a state whose content is stored: a file, or the target of a link. */
export function hasContent(state: FileState): state is Extract<FileState, { readonly sha: string }> {
  return state.kind === "file" || state.kind === "link";
}

/** True when there is no file at the path. An empty directory counts, because undo may replace it with a file. */
export function isAbsentAsFile(state: FileState): boolean {
  return state.kind === "absent" || state.kind === "directory";
}

// --- internal ---

function observeLink(address: string | Buffer, stat: Stats): Observed {
  try {
    const bytes = readlinkSync(address, { encoding: "buffer" });
    const target = bytes.toString("utf8");
    return { state: { kind: "link", sha: sha256(bytes), mode: 0o777, target }, bytes, stat };
  } catch (error) {
    return isGone(error) ? { state: ABSENT, bytes: null, stat: null } : skipped("unreadable", stat);
  }
}

function* observingFile(address: string | Buffer, stat: Stats, maxBytes: number): Steps<Observed> {
  let fd: number;
  try {
    fd = openSync(address, OPEN_TO_READ);
  } catch (error) {
    return isGone(error) ? { state: ABSENT, bytes: null, stat: null } : skipped("unreadable", stat);
  }
  try {
    const opened = fstatSync(fd);
    if (!opened.isFile()) return skipped("not_a_regular_file", opened);
    const read = yield* readingAtMost(fd, opened.size, maxBytes);
    if (read === null) return skipped("too_large", opened);
    const { bytes, sha } = read;
    return { state: { kind: "file", sha, mode: opened.mode & PERMISSIONS }, bytes, stat: opened };
  } catch {
    return skipped("unreadable", stat);
  } finally {
    closeSync(fd);
  }
}

function skipped(reason: SkipReason, stat: Stats): Observed {
  return { state: { kind: "skipped", reason }, bytes: null, stat };
}

function isGone(error: unknown): boolean {
  const code = errnoOf(error);
  return code === "ENOENT" || code === "ENOTDIR";
}
