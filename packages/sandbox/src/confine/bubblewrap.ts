import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { absolutePath } from "./environment.js";
import type { Mount, MountPlan } from "./mount-plan.js";
import { isInside, realPath } from "./paths.js";

const run = promisify(execFile);
const PROBE_TIMEOUT_MS = 10_000;
const SCRATCH_BYTES = 1024 ** 3;

export interface Bubblewrap {
  readonly file: string;
  readonly version: string;
  /** `--disable-userns` (0.8.0); older ones rely on the filter for that. */
  readonly disablesUserNamespaces: boolean;
  /** `--size` (0.7.0). */
  readonly limitsScratch: boolean;
  /** `--perms` (0.5.0). */
  readonly setsModes: boolean;
}

/** The first `bwrap` on an absolute `PATH` entry that no workspace could have planted. */
export function findBubblewrap(path: string | undefined, roots: readonly string[]): string | undefined {
  for (const directory of absolutePath(path).split(delimiter)) {
    const file = realPath(join(directory, "bwrap"));
    if (!file || roots.some((root) => isInside(file, root))) continue;
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not executable for us: keep looking.
    }
  }
  return undefined;
}

/** Asks the program for its version and makes it start once, since many hosts forbid the namespaces it needs. */
export async function probeBubblewrap(file: string): Promise<Bubblewrap> {
  const options = { env: {}, timeout: PROBE_TIMEOUT_MS };
  const { stdout } = await run(file, ["--version"], options);
  const version = /\d+\.\d+(\.\d+)?/.exec(stdout)?.[0] ?? "0.0.0";
  const bubblewrap: Bubblewrap = {
    file,
    version,
    disablesUserNamespaces: atLeast(version, 0, 8),
    limitsScratch: atLeast(version, 0, 7),
    setsModes: atLeast(version, 0, 5),
  };
  await run(file, [...isolation(bubblewrap, false), "--", "/bin/sh", "-c", ":"], options);
  return bubblewrap;
}

/** Arguments that run `shell -c command` in `cwd` under `plan`; the filter is read from `filterFd`. */
export function bubblewrapArguments(
  bubblewrap: Bubblewrap,
  request: { plan: MountPlan; network: boolean; cwd: string; filterFd: number; argv: readonly string[] },
): string[] {
  return [
    ...isolation(bubblewrap, request.network),
    ...request.plan.mounts.flatMap((mount) => mountArguments(bubblewrap, mount)),
    "--seccomp",
    String(request.filterFd),
    "--chdir",
    request.cwd,
    "--",
    ...request.argv,
  ];
}

// --- internal ---

/** Everything unshared, no capabilities, nothing writable, own devices and process list. */
function isolation(bubblewrap: Bubblewrap, network: boolean): string[] {
  return [
    "--unshare-all",
    ...(network ? ["--share-net"] : []),
    "--unshare-user",
    ...(bubblewrap.disablesUserNamespaces ? ["--disable-userns"] : []),
    "--cap-drop",
    "ALL",
    "--new-session",
    "--die-with-parent",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    // Root owns the kernel's settings there and needs no capability to write them.
    ...(process.getuid?.() === 0 ? ["--remount-ro", "/proc"] : []),
  ];
}

function mountArguments(bubblewrap: Bubblewrap, mount: Mount): string[] {
  const { path, view, kind } = mount;
  switch (view) {
    case "write":
      return ["--bind", path, path];
    case "read":
      return ["--ro-bind", path, path];
    case "scratch":
      return [...(bubblewrap.limitsScratch ? ["--size", String(SCRATCH_BYTES)] : []), "--tmpfs", path];
    case "hide":
      if (kind === "file") return ["--ro-bind", "/dev/null", path];
      // Not writable by its mode, which saves the slow remount. Who changes the mode writes where nobody will ever look.
      return bubblewrap.setsModes ? ["--perms", "0555", "--tmpfs", path] : ["--tmpfs", path, "--remount-ro", path];
  }
}

function atLeast(version: string, major: number, minor: number): boolean {
  const [actualMajor = 0, actualMinor = 0] = version.split(".").map(Number);
  return actualMajor > major || (actualMajor === major && actualMinor >= minor);
}
