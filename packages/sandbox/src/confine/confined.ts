import { absolutePath, type Environment, given } from "./environment.js";
import { shell } from "./shell.js";

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
