import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { SandboxError } from "../errors.js";
import { entryAt, isEmptyDirectory, isInside, isReadable, realPath } from "./paths.js";
import { isPlaceholder } from "./placeholders.js";
import { HOME_STARTUP_FILES } from "./secrets.js";

/** How a path looks from inside: writable, read-only, an empty private scratch directory, or hidden. */
export type View = "write" | "read" | "scratch" | "hide";

export interface Mount {
  readonly path: string;
  readonly view: View;
  readonly kind: "directory" | "file";
}

export interface MountPlan {
  /** Parents before children, so a later mount lies inside the earlier one. */
  readonly mounts: readonly Mount[];
  /** Empty directories that must exist while the command runs, so that something can be mounted over them. */
  readonly placeholders: readonly string[];
}

export interface MountRequest {
  readonly writes: boolean;
  readonly network: boolean;
  /** Real paths of the workspace directories. */
  readonly roots: readonly string[];
  readonly home: string;
  readonly hidden: readonly string[];
  /** Absolute, or relative to each root. */
  readonly protectedPaths: readonly string[];
}

/** Places that hold sockets and other users' files; a command gets its own, gone when it ends. */
const SCRATCH = ["/tmp", "/var/tmp", "/run"];

/** Below `/run` and still needed: name resolution, and the programs of NixOS. */
const RUN_KEPT = { network: "/etc/resolv.conf", always: "/run/current-system" };

/** Never writable, even when they do not exist yet: each makes another program run code or trust the workspace more. */
export const PROTECTED = [
  ".git/hooks",
  ".git/config",
  ".git/modules",
  ".git/worktrees",
  ".opencode",
  ".codex",
  ".chimera",
] as const;

const PRECEDENCE: Record<View, number> = { scratch: 0, write: 1, read: 2, hide: 3 };

/** Decides what a command sees. Looks at the file system, changes nothing; throws `protected_symlink`. */
export function planMounts(request: MountRequest): MountPlan {
  const mounts = new Map<string, Mount>();
  const placeholders = new Set<string>();
  const add = (path: string, view: View, kind: Mount["kind"] = kindOf(path)): void => {
    const known = mounts.get(path);
    if (!known || PRECEDENCE[view] > PRECEDENCE[known.view]) mounts.set(path, { path, view, kind });
  };

  for (const path of SCRATCH) {
    const real = realPath(path);
    if (real && real !== "/") add(real, "scratch");
  }
  const kept = [realPath(RUN_KEPT.always), request.network ? realPath(RUN_KEPT.network) : undefined];
  for (const path of kept) if (path && isInside(path, "/run")) add(path, "read");
  for (const root of request.roots) {
    add(root, request.writes ? "write" : "read");
    const outer = request.roots.find((other) => other !== root && isInside(root, other));
    if (outer && request.writes) walk(outer, root, "write", add, placeholders);
  }
  if (request.writes) {
    for (const root of request.roots) {
      for (const path of protectedBelow(root, request)) walk(root, path, "read", add, placeholders);
    }
  }
  for (const path of request.hidden) {
    const real = realPath(path);
    // Each mount costs time; what this process cannot read, a command cannot either.
    if (real && !isPlaceholder(real) && isReadable(real)) add(real, "hide");
    // Inside a writable root a secret must not be planted either (`authorized_keys`), so it is covered even when missing.
    const root = request.writes ? request.roots.find((candidate) => isBelow(path, candidate)) : undefined;
    if (root) walk(root, path, "hide", add, placeholders);
  }
  return { mounts: needed([...mounts.values()].sort(byDepth)), placeholders: [...placeholders] };
}

// --- internal ---

type Add = (path: string, view: View, kind?: Mount["kind"]) => void;

function protectedBelow(root: string, request: MountRequest): string[] {
  const inRoot = [...PROTECTED, ...request.protectedPaths].map((path) => resolve(root, path));
  const startup = HOME_STARTUP_FILES.map((path) => join(realPath(request.home) ?? request.home, path));
  return [...inRoot, ...startup].filter((path) => isBelow(path, root));
}

/**
 * Gives `path` its view. Every directory on the way becomes a mount of its own, because a directory that merely contains a
 * mount can be renamed away and replaced, a mount itself cannot. The first step that is missing, or empty and perhaps the placeholder of another process, is covered.
 */
function walk(root: string, path: string, view: View, add: Add, placeholders: Set<string>): void {
  let at = root;
  for (const step of relative(root, path).split(sep)) {
    const parent = at;
    at = join(at, step);
    const entry = entryAt(at);
    if (!entry || isPlaceholder(at, entry) || isEmptyDirectory(at, entry)) {
      placeholders.add(at);
      add(at, "hide", "directory");
      return;
    }
    if (entry.isSymbolicLink()) {
      sealLink(root, parent, at, add);
      return;
    }
    if (!entry.isDirectory() || at === path) {
      add(at, view, entry.isDirectory() ? "directory" : "file");
      return;
    }
    add(at, "write", "directory");
  }
}

/** Nothing can be mounted on a link; the directory that holds it is made read-only instead, unless it is the workspace. */
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

function kindOf(path: string): Mount["kind"] {
  return entryAt(path)?.isDirectory() ? "directory" : "file";
}

function byDepth(a: Mount, b: Mount): number {
  return depth(a.path) - depth(b.path) || (a.path < b.path ? -1 : 1);
}

function depth(path: string): number {
  return path.split(sep).length;
}

/**
 * Each mount costs time. Dropped is what lies inside an emptied or hidden directory, which cannot be seen and would be created by
 * mounting there, and what is read-only already, like everything that lies in no other mount.
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
