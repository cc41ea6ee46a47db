import type { SeccompArch } from "../seccomp/syscalls.js";
import { absolutePath, type Environment, given, shell } from "./environment.js";
import type { MountPlan } from "./mount-plan.js";

/** Turns a plan into a program to spawn on this machine. */
export interface Backend {
  readonly name: "bubblewrap" | "util-linux" | "seatbelt";
  readonly version: string;
  confine(request: ConfineRequest): Confined;
}

export interface ConfineRequest {
  readonly plan: MountPlan;
  readonly env: Record<string, string>;
  readonly cwd: string;
  readonly command: string;
  readonly writes: boolean;
  readonly network: boolean;
}

/** A way to confine on Linux. */
export interface LinuxConfinement {
  readonly name: Backend["name"];
  /** Names of the programs that it needs on `PATH`. */
  readonly programs: readonly string[];
  /** Finds out what these programs, in the same order, can do here. */
  inspect(programs: readonly string[], arch: SeccompArch): Promise<Launcher>;
}

export interface Launcher {
  readonly version: string;
  /** The system-call filter for descriptor 3 of the spawned program, in the form that it can load. */
  readonly filter: Buffer;
  /** Returns the command line that runs `argv` in `cwd` with the plan. */
  launch(request: LaunchRequest): readonly [file: string, ...args: string[]];
}

export interface LaunchRequest extends Pick<ConfineRequest, "plan" | "cwd" | "network"> {
  readonly argv: readonly string[];
}

/** Arguments for `child_process.spawn`. Call `release` when the child has closed, or if it is never started. */
export interface Confined {
  readonly file: string;
  readonly args: readonly string[];
  readonly options: {
    readonly cwd: string;
    readonly env: Record<string, string>;
    /** stdin is empty. The descriptor after stderr, if any, has the system-call filter. */
    readonly stdio: ["ignore", "pipe", "pipe", ...number[]];
    /** Its own process group, so that it can be ended as a whole. */
    readonly detached: true;
  };
  /** False only in mode `off` or with `osSandbox: "off"`. */
  readonly confined: boolean;
  release(): void;
}

/** Runs a command without confinement. */
export function unconfined(command: string, cwd: string, env: Environment): Confined {
  const [file, ...args] = shell(command);
  return {
    file,
    args,
    options: {
      cwd,
      env: { ...Object.fromEntries(given(env)), PATH: absolutePath(env["PATH"]) },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    },
    confined: false,
    release() {},
  };
}
