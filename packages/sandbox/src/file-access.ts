import { homedir } from "node:os";
import { dirname, resolve, sep } from "node:path";
import { PROTECTED } from "./confine/mount-plan.js";
import { isInside, realPath } from "./confine/paths.js";
import { HOME_STARTUP_FILES, secretPlaces } from "./confine/place.js";
import { SANDBOX_MODES } from "./mode.js";
import type { SandboxOptions } from "./sandbox.js";

/** `search` reads everything below a path. */
export type FileUse = "read" | "search" | "write";

export interface FileAccessOptions
  extends Pick<SandboxOptions, "mode" | "workspace" | "stateDir" | "secrets" | "home"> {
  /** Directories below hidden ones that may still be read. @defaultValue none */
  readonly readable?: readonly string[];
}

/**
 * Applies the sandbox mode to tools that touch files. Takes real absolute paths. Returns null if allowed, or else the reason.
 *
 * @example
 * const refusal = fileAccess({ mode: "read-only", workspace: { cwd }, stateDir });
 * refusal(join(cwd, "README.md"), "write"); // why not
 */
export function fileAccess(options: FileAccessOptions): (path: string, use: FileUse) => string | null {
  const { mode, workspace } = options;
  const rules = SANDBOX_MODES[mode];
  if (!rules.confined) return () => null;
  const home = real(options.home ?? homedir());
  // The whole file system does not count as a workspace, just as for commands.
  const roots = [workspace.cwd, ...(workspace.directories ?? [])].map(real).filter((root) => dirname(root) !== root);
  const hidden = secretPlaces(home, [options.stateDir, ...(options.secrets ?? [])]).map(({ path }) => real(path));
  // Of a hidden directory with a workspace in it, only the workspace is visible.
  const isHidden = (path: string) =>
    hidden.some(
      (place) => isInside(path, place) && !roots.some((root) => isInside(path, root) && isInside(root, place)),
    );
  const readable = (options.readable ?? []).map(real);
  const guarded = [
    ...roots.flatMap((root) => PROTECTED.map((path) => resolve(root, path))),
    ...HOME_STARTUP_FILES.map((path) => resolve(home, path)),
  ];
  const inRoot = (path: string) => roots.some((root) => isInside(path, root));

  return (path, use) => {
    if (use === "read" && readable.some((place) => isInside(path, place))) return null;
    if (isHidden(path)) return `${path} is hidden by sandbox mode ${mode}`;
    if (use === "search" && !inRoot(path) && hidden.some((place) => isInside(place, path))) {
      return `${path} holds places that sandbox mode ${mode} hides`;
    }
    return use === "write" ? refuseWrite(path) : null;
  };

  function refuseWrite(path: string): string | null {
    if (!rules.writes) return `sandbox mode ${mode} allows no writes`;
    if (!inRoot(path)) return `${path} is outside the workspace, which sandbox mode ${mode} does not allow to write`;
    // People do not edit files in a `.git` by hand, and a `.git` anywhere in the workspace can run programs.
    const steers = path.split(sep).includes(".git") || guarded.some((place) => isInside(path, place));
    return steers ? `${path} steers other programs and is read-only in sandbox mode ${mode}` : null;
  }
}

// --- internal ---

function real(path: string): string {
  return realPath(path) ?? resolve(path);
}
