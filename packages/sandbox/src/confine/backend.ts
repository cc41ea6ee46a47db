import type { SeccompArch } from "../seccomp/syscalls.js";
import { absolutePath, type Environment, given, shell } from "./environment.js";
import type { MountPlan } from "./mount-plan.js";

/** What turns a plan into something to spawn on this machine. */
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

/** One way to confine on Linux. */
export interface LinuxConfinement {
  readonly name: Backend["name"];
  /** What it is made of, by the names on `PATH`. */
  readonly programs: readonly string[];
  /** Asks these programs, in the same order, what they can do here. */
  inspect(programs: readonly string[], arch: SeccompArch): Promise<Launcher>;
}

export interface Launcher {
  readonly version: string;
  /** What the spawned program finds at descriptor 3: the system-call filter, in the form it can load. */
  readonly filter: Buffer;
  /** The command line that runs `argv` in `cwd` under the plan. */
  launch(request: LaunchRequest): readonly [file: string, ...args: string[]];
}

export interface LaunchRequest extends Pick<ConfineRequest, "plan" | "cwd" | "network"> {
  readonly argv: readonly string[];
}

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

/** The same without any wall. */
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
