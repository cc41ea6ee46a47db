import type { SandboxMode } from "../../src/index.js";

/**
 * An attempt to escape. Afterwards nothing outside may have changed, no listener may have been reached, neither the secret nor `ESCAPED`
 * may have been printed, and `creates` must not exist.
 */
export interface Attempt {
  readonly name: string;
  /** @defaultValue read-only and workspace-write */
  readonly modes?: readonly SandboxMode[];
  readonly command: string;
  readonly creates?: string;
  /** A command line that must not be running after the command has ended. */
  readonly leaves?: string;
  /** Whether it runs in every test run, and not only in the full suite. */
  readonly core?: boolean;
}

export const WRITE: readonly SandboxMode[] = ["workspace-write"];
export const NETWORK: readonly SandboxMode[] = ["workspace-write-network"];
export const ALL: readonly SandboxMode[] = ["read-only", "workspace-write", "workspace-write-network"];

export const python = (code: string): string => `python3 -c "${code.replaceAll('"', '\\"')}"`;
export const syscall = (number: string, ...args: readonly string[]): string =>
  python(
    `import ctypes,platform;n={'x86_64':0,'aarch64':1}[platform.machine()];c=ctypes.CDLL(None,use_errno=True);r=c.syscall((${number})[n],${args.join(",") || "0"});print('ESCAPED' if r>=0 else 'refused')`,
  );
