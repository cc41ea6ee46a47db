import { closeSync, existsSync } from "node:fs";
import { homedir } from "node:os";
import { type Bubblewrap, bubblewrapArguments, findBubblewrap, probeBubblewrap } from "./confine/bubblewrap.js";
import { absolutePath, cleanEnvironment, type Environment } from "./confine/environment.js";
import { type MountPlan, planMounts } from "./confine/mount-plan.js";
import { isInside, realPath } from "./confine/paths.js";
import { holdPlaceholders } from "./confine/placeholders.js";
import { SEATBELT, seatbeltProfile } from "./confine/seatbelt.js";
import { secretPaths } from "./confine/secrets.js";
import { SandboxError } from "./errors.js";
import { SANDBOX_MODES, type SandboxMode } from "./mode.js";
import { openBytes } from "./seccomp/descriptor.js";
import { seccompArch, seccompFilter } from "./seccomp/filter.js";

/** `auto` and `on` confine or refuse; only `off`, an explicit choice, runs without the operating system's wall. */
export type OsSandbox = "auto" | "on" | "off";

/** The directories a command belongs to: where it runs, and what else it may write when it may write at all. */
export interface Workspace {
  readonly cwd: string;
  readonly directories?: readonly string[];
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
  /** Told once about anything a person should know. */
  readonly log: (message: string) => void;
}

export type Availability =
  | { readonly available: true; readonly backend: "bubblewrap" | "seatbelt"; readonly version: string }
  | { readonly available: false; readonly error: SandboxError };

/** What to pass to `child_process.spawn`. Call `release` once the child has closed, or when it is never started. */
export interface Confined {
  readonly file: string;
  readonly args: readonly string[];
  readonly options: {
    readonly cwd: string;
    readonly env: Record<string, string>;
    /** stdin is empty; the descriptor after stderr, if any, carries the system-call filter. */
    readonly stdio: ["ignore", "pipe", "pipe", ...number[]];
    /** Its own process group, so that it can be ended as a whole. */
    readonly detached: true;
  };
  /** False only in mode `off` or with `osSandbox: "off"`. */
  readonly confined: boolean;
  release(): void;
}

export interface Sandbox {
  readonly mode: SandboxMode;
  /** Whether this machine can confine; tried once, on first use. */
  probe(): Promise<Availability>;
  /** How to run a shell command under the mode; rejects with a SandboxError rather than ever running it unconfined. */
  confine(command: string, options?: { cwd?: string; env?: Environment }): Promise<Confined>;
}

/** Confinement of shell commands for one workspace; holds no resources between commands. Throws `invalid_workspace`. */
export function createSandbox(options: SandboxOptions): Sandbox {
  const rules = SANDBOX_MODES[options.mode];
  const home = options.home ?? homedir();
  const roots = workspaceRoots(options.workspace);
  const walled = rules.confined && options.osSandbox !== "off";
  let probed: Promise<Backend> | undefined;
  let warned = false;

  function backend(): Promise<Backend> {
    probed ??= findBackend(options.env["PATH"], roots);
    return probed;
  }

  async function probe(): Promise<Availability> {
    try {
      const { name, version } = await backend();
      return { available: true, backend: name, version };
    } catch (error) {
      return { available: false, error: error as SandboxError };
    }
  }

  async function confine(command: string, given: { cwd?: string; env?: Environment } = {}): Promise<Confined> {
    // A command that could swap a directory for a link would otherwise choose what the next one may write.
    for (const root of roots) if (realPath(root) !== root) throw invalidWorkspace(root, "is no longer where it was");
    const cwd = commandDirectory(given.cwd ?? options.workspace.cwd, roots, rules.confined);
    if (!walled) {
      if (rules.confined && !warned)
        options.log(`sandbox mode ${options.mode} without the OS sandbox: commands are not confined`);
      warned = true;
      return unconfined(command, cwd, { ...options.env, ...given.env });
    }
    const chosen = await backend();
    const plan = planMounts({
      writes: rules.writes,
      network: rules.network,
      roots,
      home,
      hidden: secretPaths(home, [options.stateDir, ...(options.secrets ?? [])]),
      protectedPaths: options.protectedPaths ?? [],
    });
    const env = cleanEnvironment(options.env, given.env ?? {}, rules.network);
    return chosen.confine({ plan, env, cwd, command, writes: rules.writes, network: rules.network });
  }

  return { mode: options.mode, probe, confine };
}

// --- internal ---

interface Backend {
  readonly name: "bubblewrap" | "seatbelt";
  readonly version: string;
  confine(request: ConfineRequest): Confined;
}

interface ConfineRequest {
  readonly plan: MountPlan;
  readonly env: Record<string, string>;
  readonly cwd: string;
  readonly command: string;
  readonly writes: boolean;
  readonly network: boolean;
}

const FILTER_FD = 3;

const UNAVAILABLE_HINT =
  "install bubblewrap (apt install bubblewrap, dnf install bubblewrap) and allow unprivileged user namespaces, or choose sandbox mode off to run commands unconfined";

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
  const file = findBubblewrap(path, roots);
  if (!file) throw new SandboxError("sandbox_unavailable", "no bwrap on PATH", UNAVAILABLE_HINT);
  try {
    return bubblewrapBackend(await probeBubblewrap(file), seccompFilter(arch));
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message.trim().split("\n").at(-1) : String(cause);
    throw new SandboxError("sandbox_unavailable", `${file} cannot start here: ${detail}`, UNAVAILABLE_HINT, { cause });
  }
}

function bubblewrapBackend(bubblewrap: Bubblewrap, filter: Buffer): Backend {
  return {
    name: "bubblewrap",
    version: bubblewrap.version,
    confine({ plan, env, cwd, command, network }) {
      const removePlaceholders = holdPlaceholders(plan.placeholders);
      let fd: number | undefined;
      try {
        fd = openBytes(filter);
      } catch (error) {
        removePlaceholders();
        throw error;
      }
      const argv = shell(command);
      return {
        file: bubblewrap.file,
        args: bubblewrapArguments(bubblewrap, { plan, network, cwd, filterFd: FILTER_FD, argv }),
        options: { cwd: "/", env, stdio: ["ignore", "pipe", "pipe", fd], detached: true },
        confined: true,
        release() {
          if (fd === undefined) return;
          closeSync(fd);
          fd = undefined;
          removePlaceholders();
        },
      };
    },
  };
}

function seatbeltBackend(): Backend {
  if (!existsSync(SEATBELT)) {
    throw new SandboxError(
      "sandbox_unavailable",
      `${SEATBELT} is missing`,
      "choose sandbox mode off to run commands unconfined",
    );
  }
  return {
    name: "seatbelt",
    version: "1",
    confine({ plan, env, cwd, command, writes, network }) {
      return {
        file: SEATBELT,
        args: ["-p", seatbeltProfile(plan, { writes, network }), ...shell(command)],
        options: { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true },
        confined: true,
        release() {},
      };
    },
  };
}

function unconfined(command: string, cwd: string, env: Environment): Confined {
  const [file = "/bin/sh", ...args] = shell(command);
  const given = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    file,
    args,
    options: {
      cwd,
      env: { ...Object.fromEntries(given), PATH: absolutePath(env["PATH"]) },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    },
    confined: false,
    release() {},
  };
}

function shell(command: string): string[] {
  return [existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh", "-c", command];
}

function workspaceRoots(workspace: Workspace): string[] {
  const roots = [workspace.cwd, ...(workspace.directories ?? [])].map((path) => {
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
