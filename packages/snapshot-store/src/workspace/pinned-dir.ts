/**
 * A directory held open, so that changes of its path cannot lead a write elsewhere. Node has no `openat`, but on Linux
 * `/proc/self/fd/N/name` resolves from the open directory. On other systems the path is checked before each use, which leaves a
 * window of microseconds.
 */
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
} from "node:fs";
import { errnoOf, orElse, SnapshotError, unless } from "../errors.js";
import { bytesOfText, fsPath, textOfBytes } from "./path-bytes.js";

const HAS_PROC_FD = process.platform === "linux" && existsSync("/proc/self/fd");
/** Linux's O_PATH, for which Node has no name: opens a directory even without permission to read it. */
const HOLD_ONLY = HAS_PROC_FD ? 0o10000000 : 0;
const OPEN_DIRECTORY =
  constants.O_RDONLY |
  HOLD_ONLY |
  (constants.O_DIRECTORY ?? 0) |
  (constants.O_NOFOLLOW ?? 0) |
  (constants.O_NONBLOCK ?? 0);

export type PinnedDir = ReturnType<typeof pin>;

/** Opens a workspace root, which must be its own real path. */
export function pinRoot(root: string): PinnedDir {
  const moved = (cause?: unknown) =>
    new SnapshotError("workspace_moved", `${root} is no longer where it was`, { cause });
  let pinned: PinnedDir;
  try {
    pinned = pin(root, fsPath(root));
  } catch (error) {
    throw ["ENOENT", ...ELSEWHERE].includes(errnoOf(error) ?? "") ? moved(error) : error;
  }
  if (pinned.inPlace()) return pinned;
  pinned.close();
  throw moved();
}

/** Opens a directory below a root without following links. Null when it is missing and `make` is false, or is not a directory. */
export function pinBelow(root: string, parts: readonly string[], make = false): PinnedDir | null {
  let dir = pinRoot(root);
  for (const part of parts) {
    const outer = dir;
    try {
      const next = unless(["ENOENT", ...ELSEWHERE], () => (make ? pinOrMake : pinChild)(outer, part));
      if (next === null) return null;
      dir = next;
    } finally {
      outer.close();
    }
  }
  if (dir.inPlace()) return dir;
  dir.close();
  return null;
}

/** Runs `use` with a directory below a root; undefined when `pinBelow` returns null. */
export function inPinned<T>(root: string, parts: readonly string[], use: (dir: PinnedDir) => T): T | undefined {
  const dir = pinBelow(root, parts);
  try {
    return dir === null ? undefined : use(dir);
  } finally {
    dir?.close();
  }
}

/** Makes a directory, unless an entry with its name exists or its parent was just removed. */
export function mkdirIfMissing(address: string | Buffer, mode: number): void {
  unless(["EEXIST", "ENOENT"], () => mkdirSync(address, { mode }));
}

// --- internal ---

/** Errors that mean that the path is not a directory, or is a link. */
const ELSEWHERE = ["ENOTDIR", "ELOOP", "EMLINK"];

function pinChild(dir: PinnedDir, name: string): PinnedDir {
  return pin(dir.path === "/" ? `/${name}` : `${dir.path}/${name}`, dir.at(name));
}

function pinOrMake(dir: PinnedDir, name: string): PinnedDir {
  try {
    return pinChild(dir, name);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT" || !dir.inPlace()) throw error;
  }
  mkdirIfMissing(dir.at(name), 0o777);
  return pinChild(dir, name);
}

function pin(path: string, address: string | Buffer) {
  const fd = openSync(address, OPEN_DIRECTORY);
  const link = `/proc/self/fd/${fd}`;
  return {
    path,
    /** The address of an entry; `name` is a single path component. */
    at(name: string): string | Buffer {
      if (!HAS_PROC_FD) return fsPath(`${path}/${name}`);
      const address = fsPath(name);
      return typeof address === "string" ? `${link}/${address}` : Buffer.concat([bytesOfText(`${link}/`), address]);
    },
    /** False once the directory was moved, removed or replaced. */
    inPlace(): boolean {
      const isHere = HAS_PROC_FD
        ? () => textOfBytes(readlinkSync(link, { encoding: "buffer" })) === path && fstatSync(fd).nlink > 0
        : () => textOfBytes(realpathSync.native(fsPath(path), { encoding: "buffer" })) === path;
      return orElse(isHere, false);
    },
    /** Sets the mode, unless the directory has it already or belongs to another user. */
    chmod(mode: number) {
      if ((fstatSync(fd).mode & 0o7777) === mode) return;
      unless(["EPERM"], () => (HAS_PROC_FD ? chmodSync(link, mode) : fchmodSync(fd, mode)));
    },
    close: () => closeSync(fd),
  };
}
