import { homedir } from "node:os";
import type { Backend } from "./confine/backend.js";
import { type Confined, unconfined } from "./confine/backend.js";
import { cleanEnvironment, type Environment, given } from "./confine/environment.js";
import { findLinuxBackend } from "./confine/linux.js";
import { planMounts } from "./confine/mount-plan.js";
import { isInside, realPath } from "./confine/paths.js";
import { secretPlaces } from "./confine/place.js";
import { seatbeltBackend } from "./confine/seatbelt.js";
import { SandboxError } from "./errors.js";
import { SANDBOX_MODES, type SandboxMode } from "./mode.js";
import { seccompArch } from "./seccomp/filter.js";

/** `auto` and `on` confine commands or refuse them. Only the explicit choice `off` runs them without the wall. */
export type OsSandbox = "auto" | "on" | "off";

/** The directories of a command: the one in which it runs, and others that it may write if the mode allows writing. */
export interface Workspace {
  readonly cwd: string;
  readonly directories?: readonly string[];
  /** The directory with the program's own state and login: writable, and neither hidden nor protected. */
  readonly own?: string;
}

export interface SandboxOptions {
  readonly mode: SandboxMode;
  readonly osSandbox: OsSandbox;
  readonly workspace: Workspace;
  /** The directory with our own data (logs, pid files, tokens), which is hidden from commands. */
  readonly stateDir: string;
  /** Our environment, of which commands inherit an allow-list. */
  readonly env: Environment;
  /** Paths to hide in addition to the built-in list. */
  readonly secrets?: readonly string[];
  /** @defaultValue the user's home directory */
  readonly home?: string;
  /** Receives each message for the person once. */
  readonly log: (message: string) => void;
}

export type Availability =
  | { readonly available: true; readonly backend: Backend["name"]; readonly version: string }
  | { readonly available: false; readonly error: SandboxError };

export interface Sandbox {
  /** Whether this machine can confine. Tried on first use; a failure is tried again. */
  probe(): Promise<Availability>;
  /** Prepares a shell command for the mode. Rejects with a SandboxError if it cannot confine the command. */
  confine(command: string, options?: { cwd?: string; env?: Environment }): Promise<Confined>;
}

/**
 * Makes a sandbox for the shell commands of one workspace. Throws `invalid_workspace`.
 *
 * @example
 * const sandbox = createSandbox({ mode: "read-only", osSandbox: "auto", workspace: { cwd }, stateDir, env: process.env, log: console.error });
 * const { file, args, options, release } = await sandbox.confine("npm test");
 */
export function createSandbox(options: SandboxOptions): Sandbox {
  const rules = SANDBOX_MODES[options.mode];
  const home = options.home ?? homedir();
  const roots = rules.confined ? workspaceRoots(options.workspace) : [];
  const walled = rules.confined && options.osSandbox !== "off";
  const inherited = cleanEnvironment(options.env, rules.network);
  const own = rules.confined && options.workspace.own !== undefined ? realPath(options.workspace.own) : undefined;
  const always = [options.stateDir, ...(options.secrets ?? [])];
  const hidden = secretPlaces(home, always).filter(
    ({ path }) => always.includes(path) || !(own && isInside(realPath(path) ?? path, own)),
  );
  let found: Promise<Backend> | undefined;
  let warned = false;

  function backend(): Promise<Backend> {
    found ??= findBackend(options.env["PATH"], roots).catch((error) => {
      found = undefined;
      throw error;
    });
    return found;
  }

  async function probe(): Promise<Availability> {
    try {
      const { name, version } = await backend();
      return { available: true, backend: name, version };
    } catch (error) {
      return { available: false, error: error as SandboxError };
    }
  }

  async function confine(command: string, how: { cwd?: string; env?: Environment } = {}): Promise<Confined> {
    // Check again, because a command may have replaced a root by a link, which would decide what the next command may write.
    for (const root of roots) if (realPath(root) !== root) throw invalidWorkspace(root, "is no longer where it was");
    const cwd = commandDirectory(how.cwd ?? options.workspace.cwd, roots, rules.confined);
    if (!walled) {
      if (rules.confined && !warned)
        options.log(`sandbox mode ${options.mode} without the OS sandbox: commands are not confined`);
      warned = true;
      return unconfined(command, cwd, { ...options.env, ...how.env });
    }
    const chosen = await backend();
    const plan = planMounts({ writes: rules.writes, network: rules.network, roots, own, home, hidden });
    const env = { ...inherited, ...Object.fromEntries(given(how.env ?? {})) };
    return chosen.confine({ plan, env, cwd, command, writes: rules.writes, network: rules.network });
  }

  return { probe, confine };
}

// --- internal ---

/** Finds this machine's backend, none of whose programs is inside `roots`. Rejects with `sandbox_unavailable` or `unsupported_platform`. */
async function findBackend(path: string | undefined, roots: readonly string[]): Promise<Backend> {
  if (process.platform === "darwin") return seatbeltBackend();
  const arch = seccompArch(process.arch);
  if (process.platform !== "linux" || !arch) {
    throw new SandboxError(
      "unsupported_platform",
      `no OS sandbox for ${process.platform} on ${process.arch}`,
      "run on Linux (x64, arm64) or macOS, or choose sandbox mode off",
    );
  }
  return findLinuxBackend(arch, path, roots);
}

function workspaceRoots(workspace: Workspace): string[] {
  const { cwd, directories = [], own = cwd } = workspace;
  const roots = [cwd, ...directories, own].map((path) => {
    const real = realPath(path);
    if (!real) throw invalidWorkspace(path, "does not exist");
    if (real === "/") throw invalidWorkspace(path, "is the whole file system");
    return real;
  });
  return [...new Set(roots)];
}

function invalidWorkspace(path: string, what: string): SandboxError {
  return new SandboxError("invalid_workspace", `workspace directory ${path} ${what}`, "start in a project directory");
}

function commandDirectory(path: string, roots: readonly string[], confined: boolean): string {
  const real = realPath(path);
  if (real && (!confined || roots.some((root) => isInside(real, root)))) return real;
  throw new SandboxError(
    "outside_workspace",
    real ? `${path} is outside the workspace` : `directory ${path} does not exist`,
    "run the command inside the workspace, or add the directory to it",
  );
}
