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

/** `auto` and `on` confine or refuse; only `off`, an explicit choice, runs without the operating system's wall. */
export type OsSandbox = "auto" | "on" | "off";

/** The directories a command belongs to: where it runs, and what else it may write when it may write at all. */
export interface Workspace {
  readonly cwd: string;
  readonly directories?: readonly string[];
  /** Where the program that runs keeps its own state: writable, and neither hidden from it nor protected, its login included. */
  readonly own?: string;
}

export interface SandboxOptions {
  readonly mode: SandboxMode;
  readonly osSandbox: OsSandbox;
  readonly workspace: Workspace;
  /** The program's own data (logs, pid files, tokens): hidden from commands. */
  readonly stateDir: string;
  /** The program's environment; commands inherit an allow-list of it. */
  readonly env: Environment;
  /** Hidden besides the built-in list. */
  readonly secrets?: readonly string[];
  /** Read-only besides the built-in list, even when missing; absolute, or relative to each workspace directory. */
  readonly protectedPaths?: readonly string[];
  /** @defaultValue the user's home directory */
  readonly home?: string;
  /** Called once for each thing that a person should know. */
  readonly log: (message: string) => void;
}

export type Availability =
  | { readonly available: true; readonly backend: Backend["name"]; readonly version: string }
  | { readonly available: false; readonly error: SandboxError };

export interface Sandbox {
  readonly mode: SandboxMode;
  /** Whether this machine can confine; tried on first use, and again only while it cannot. */
  probe(): Promise<Availability>;
  /** How to run a shell command under the mode; rejects with a SandboxError rather than ever running it unconfined. */
  confine(command: string, options?: { cwd?: string; env?: Environment }): Promise<Confined>;
}

/** Confinement of shell commands for one workspace. Throws `invalid_workspace`. */
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
    // A command that could swap a directory for a link would otherwise choose what the next one may write.
    for (const root of roots) if (realPath(root) !== root) throw invalidWorkspace(root, "is no longer where it was");
    const cwd = commandDirectory(how.cwd ?? options.workspace.cwd, roots, rules.confined);
    if (!walled) {
      if (rules.confined && !warned)
        options.log(`sandbox mode ${options.mode} without the OS sandbox: commands are not confined`);
      warned = true;
      return unconfined(command, cwd, { ...options.env, ...how.env });
    }
    const chosen = await backend();
    const plan = planMounts({
      writes: rules.writes,
      network: rules.network,
      roots,
      own,
      home,
      hidden,
      protectedPaths: options.protectedPaths ?? [],
    });
    const env = { ...inherited, ...Object.fromEntries(given(how.env ?? {})) };
    return chosen.confine({ plan, env, cwd, command, writes: rules.writes, network: rules.network });
  }

  return { mode: options.mode, probe, confine };
}

// --- internal ---

/** The wall of this machine, none of it inside `roots`; rejects with `sandbox_unavailable` or `unsupported_platform`. */
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
