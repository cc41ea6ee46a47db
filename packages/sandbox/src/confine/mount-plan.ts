import type { Stats } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { SandboxError } from "../errors.js";
import { words } from "../words.js";
import { entryAt, isEmpty, isInside, isReadable, readSmall, realPath } from "./paths.js";
import { HOME_STARTUP_FILES, type Place, placesIn } from "./place.js";
import { isPlaceholder } from "./placeholders.js";

/** How a command sees a path: writable, read-only, as an empty private scratch directory, or hidden. */
export type View = "write" | "read" | "scratch" | "hide";

export interface Mount extends Place {
  readonly view: View;
}

export interface MountPlan {
  /** Parents come before their children. */
  readonly mounts: readonly Mount[];
  /** Empty directories and files that must exist while the command runs, so that mounts can cover them. */
  readonly placeholders: readonly Place[];
}

export interface MountRequest {
  readonly writes: boolean;
  readonly network: boolean;
  /** Real paths of the workspace directories. */
  readonly roots: readonly string[];
  /** Real path of the root with the program's own state. */
  readonly own: string | undefined;
  readonly home: string;
  readonly hidden: readonly Place[];
}

/** Directories with sockets and other users' files. A command gets its own, which vanish when it ends. */
const SCRATCH = ["/tmp", "/var/tmp", "/run"];

/** Most bytes that a command may write there. */
export const SCRATCH_BYTES = 1024 ** 3;

/** Paths below `/run` that commands need: name resolution, and the programs of NixOS. */
const RUN_KEPT = { network: "/etc/resolv.conf", always: "/run/current-system" };

/** Never writable, even while missing: each makes a program run code or trust the workspace more. Directories end with a slash. */
export const PROTECTED = words(".git/hooks/ .git/config .git/modules/ .git/worktrees/ .opencode/ .codex/ .chimera/");

/** This file names the directory with git's settings and hooks. A dot means the same directory, as without the file. */
const REDIRECTION = { path: ".git/commondir", text: ".\n" };

const PRECEDENCE: Record<View, number> = { scratch: 0, write: 1, read: 2, hide: 3 };

/** Decides what a command sees. Reads the file system and changes nothing. Throws `protected_symlink`. */
export function planMounts(request: MountRequest): MountPlan {
  const mounts = new Map<string, Mount>();
  const placeholders = new Map<string, Place>();
  const add = (path: string, view: View, kind = kindOf(entryAt(path))): void => {
    const known = mounts.get(path);
    if (!known || PRECEDENCE[view] > PRECEDENCE[known.view]) mounts.set(path, { path, view, kind });
  };
  const cover = (place: Place, view: View): void => {
    placeholders.set(place.path, place);
    // An unwritable directory is a cheaper mount. A protected file must still be readable, or git fails.
    add(place.path, place.kind === "directory" ? "hide" : view, place.kind);
  };

  for (const path of SCRATCH) {
    const real = realPath(path);
    if (real && real !== "/") add(real, "scratch");
  }
  const kept = [realPath(RUN_KEPT.always), request.network ? realPath(RUN_KEPT.network) : undefined];
  for (const path of kept) if (path && isInside(path, "/run")) add(path, "read");
  for (const root of request.roots) {
    add(root, request.writes ? "write" : "read", "directory");
    const outer = request.roots.find((other) => other !== root && isInside(root, other));
    if (outer && request.writes) walk(outer, { path: root, kind: "directory" }, "write", add, cover);
  }
  if (request.writes) {
    for (const root of request.roots) {
      for (const place of protectedBelow(root, request)) walk(root, place, "read", add, cover);
    }
  }
  for (const place of request.hidden) {
    const real = realPath(place.path);
    // Each mount costs time, so skip files that this process, and therefore a command, cannot read.
    if (real && !isPlaceholder(real) && isReadable(real)) add(real, "hide");
    // In a writable root, cover even a missing secret, because a command must not plant one, such as `authorized_keys`.
    const root = request.writes ? request.roots.find((candidate) => isBelow(place.path, candidate)) : undefined;
    if (root && !(place.ifPresent && !real)) walk(root, place, "hide", add, cover);
  }
  return { mounts: needed([...mounts.values()].sort(byDepth)), placeholders: [...placeholders.values()] };
}

/** Sorts parents before their children. */
export function byDepth(a: Mount, b: Mount): number {
  return depth(a.path) - depth(b.path) || (a.path < b.path ? -1 : 1);
}

// --- internal ---

type Add = (path: string, view: View, kind?: Place["kind"]) => void;
type Cover = (place: Place, view: View) => void;

function protectedBelow(root: string, { home, own }: MountRequest): Place[] {
  const settings = hasWorktreeSettings(root) ? [".git/config.worktree"] : [];
  const startup = placesIn(realPath(home) ?? home, HOME_STARTUP_FILES);
  const redirection: Place = { ...REDIRECTION, path: join(root, REDIRECTION.path), kind: "file" };
  return [...placesIn(root, [...PROTECTED, ...settings]), redirection, ...startup].filter(
    ({ path }) => isBelow(path, root) && !(own && isInside(path, own)),
  );
}

/** Whether git reads a second file of settings, which the first one decides. Otherwise that file needs no mount. */
function hasWorktreeSettings(root: string): boolean {
  const settings = join(root, ".git/config");
  return entryAt(settings) !== undefined && /worktreeconfig/i.test(readSmall(settings) ?? "worktreeconfig");
}

/**
 * Gives `place` its view. Every directory on the way becomes a mount, because a directory that only contains a mount can be renamed and
 * replaced, but a mount itself cannot. Covers the first step that is missing, or that is empty and may be another process's placeholder.
 */
function walk(root: string, place: Place, view: View, add: Add, cover: Cover): void {
  let at = root;
  for (const step of relative(root, place.path).split(sep)) {
    const parent = at;
    at = join(at, step);
    const last = at === place.path;
    const entry = entryAt(at);
    const expected = last ? place.kind : "directory";
    const kind = entry ? kindOf(entry) : expected;
    if (!entry || (view !== "write" && couldStandIn(at, entry, last ? place.text : undefined))) {
      cover(last ? { ...place, kind } : { path: at, kind }, view);
      return;
    }
    if (entry.isSymbolicLink()) {
      sealLink(root, parent, at, add);
      return;
    }
    // A directory with only git's sample hooks counts as empty, because an unwritable directory is a cheaper mount.
    if (last && view === "read" && isEmpty(at, entry, (name) => name.endsWith(".sample"))) add(at, "hide", kind);
    else add(at, last || kind === "file" ? view : "write", kind);
    if (kind === "file") return;
  }
}

/** Whether the entry is a placeholder, or looks like one of another process. */
function couldStandIn(path: string, entry: Stats, text: string | undefined): boolean {
  if (isPlaceholder(path, entry) || isEmpty(path, entry)) return true;
  return text !== undefined && entry.size === text.length && readSmall(path) === text;
}

/** Makes the directory of a link read-only, because a link cannot be a mount. Throws if that directory is the workspace. */
function sealLink(root: string, parent: string, link: string, add: Add): void {
  if (parent === root) {
    throw new SandboxError(
      "protected_symlink",
      `${link} is a symbolic link, so it cannot be protected from commands that may write here`,
      "replace the link by a real directory, or use sandbox mode read-only",
    );
  }
  add(parent, "read", "directory");
  const target = realPath(link);
  if (target && isInside(target, root)) add(target, "read");
}

function isBelow(path: string, root: string): boolean {
  return isAbsolute(path) && path !== root && isInside(path, root);
}

function kindOf(entry: Stats | undefined): Place["kind"] {
  return entry?.isDirectory() ? "directory" : "file";
}

function depth(path: string): number {
  return path.split(sep).length;
}

/**
 * Drops mounts that are not needed, because each costs time: those in an emptied or hidden directory, which nobody can see, and read-only
 * mounts in a read-only directory. Everything outside other mounts is read-only.
 */
function needed(sorted: readonly Mount[]): Mount[] {
  const kept: Mount[] = [];
  for (const mount of sorted) {
    const around = kept.findLast((outer) => isInside(mount.path, outer.path))?.view ?? "read";
    const emptied = around === "hide" || around === "scratch";
    const redundant = mount.view === "read" ? around === "read" : emptied && mount.view !== "write";
    if (!redundant) kept.push(mount);
  }
  return kept;
}
