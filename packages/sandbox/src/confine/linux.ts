import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { accessSync, closeSync, constants, openSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SandboxError } from "../errors.js";
import type { SeccompArch } from "../seccomp/syscalls.js";
import type { Backend, Confined, Launcher, LinuxConfinement } from "./backend.js";
import { bubblewrap } from "./bubblewrap.js";
import { shell } from "./environment.js";
import { holdPlaceholders } from "./placeholders.js";
import { findProgram } from "./programs.js";
import { utilLinux } from "./util-linux.js";

/** In order of preference. */
export const CONFINEMENTS: readonly LinuxConfinement[] = [bubblewrap, utilLinux];

/** Finds the first confinement that works here. Rejects with `sandbox_unavailable` and the reason for each that does not. */
export async function findLinuxBackend(
  arch: SeccompArch,
  path: string | undefined,
  roots: readonly string[],
): Promise<Backend> {
  const failures: string[] = [];
  for (const confinement of CONFINEMENTS) {
    const programs = confinement.programs.map((name) => ({ name, file: findProgram(name, path, roots) }));
    const missing = programs.find(({ file }) => !file);
    if (missing) {
      failures.push(`no ${missing.name} on PATH`);
      continue;
    }
    try {
      return await proveOnce(
        confinement,
        programs.map(({ file }) => file!),
        arch,
      );
    } catch (error) {
      failures.push(`${programs[0]?.file} cannot start here: ${(error as Error).message.trim().split("\n").at(-1)}`);
    }
  }
  throw new SandboxError("sandbox_unavailable", failures.join("; "), UNAVAILABLE_HINT);
}

/** Returns a function that opens descriptors with `bytes`; the caller closes each. Their file has no name, so nobody can change it. */
export function descriptorsOf(bytes: Buffer): () => number {
  let source: number | undefined;
  return () => {
    source ??= namelessFile(bytes);
    // Open it again. A duplicated descriptor would share its offset with the child that read the one before.
    return openSync(`/proc/self/fd/${source}`, "r");
  };
}

// --- internal ---

const UNAVAILABLE_HINT =
  "install bubblewrap (apt install bubblewrap, dnf install bubblewrap) or allow unprivileged user namespaces, which both it and util-linux need (in Docker: --security-opt seccomp=unconfined), or choose sandbox mode off to run commands unconfined";

const PROBE_TIMEOUT_MS = 10_000;

/** Backends that have started once, for all workspaces of the process. Failures are tried again, because they may have been fixed. */
const proven = new Map<string, Backend>();

async function proveOnce(
  confinement: LinuxConfinement,
  programs: readonly string[],
  arch: SeccompArch,
): Promise<Backend> {
  const key = programs.join("\0");
  const known = proven.get(key);
  if (known) return known;
  const backend = linuxBackend(confinement.name, await confinement.inspect(programs, arch));
  await startOnce(backend);
  proven.set(key, backend);
  return backend;
}

/** Starts a command once, because many hosts forbid the namespaces that a confinement needs. */
async function startOnce(backend: Backend): Promise<void> {
  const request = { plan: { mounts: [], placeholders: [] }, env: {}, cwd: "/", command: ":" };
  const confined = backend.confine({ ...request, writes: false, network: false });
  try {
    const child = spawn(confined.file, confined.args, {
      ...confined.options,
      timeout: PROBE_TIMEOUT_MS,
      killSignal: "SIGKILL",
    });
    let stderr = "";
    child.stderr?.on("data", (chunk) => {
      stderr += chunk;
    });
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    if (code !== 0) throw new Error(stderr.trim() || `it ended with ${code ?? signal}`);
  } finally {
    confined.release();
  }
}

function linuxBackend(name: Backend["name"], { version, filter, launch }: Launcher): Backend {
  const openFilter = descriptorsOf(filter);
  return {
    name,
    version,
    confine({ plan, env, cwd, command, network }) {
      const letGo = holdPlaceholders(plan.placeholders);
      let fd: number | undefined;
      const release = (): void => {
        if (fd !== undefined) closeSync(fd);
        fd = undefined;
        letGo();
      };
      try {
        fd = openFilter();
        const [file, ...args] = launch({ plan, network, cwd, argv: shell(command) });
        const stdio: Confined["options"]["stdio"] = ["ignore", "pipe", "pipe", fd];
        return { file, args, options: { cwd: "/", env, stdio, detached: true }, confined: true, release };
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}

/** Alternatives for hosts that do not allow running files in `/tmp`. */
const PLACES = ["/var/tmp", "/dev/shm", "/run/shm"];

/** Makes a file without a name in the first directory whose files may be run, because `bytes` may be a program. */
function namelessFile(bytes: Buffer): number {
  const preferred = tmpdir();
  for (const place of [preferred, ...PLACES]) {
    try {
      return writtenOnce(place, bytes, constants.X_OK);
    } catch {
      // The directory does not exist, is full, or forbids it.
    }
  }
  return writtenOnce(preferred, bytes, constants.R_OK);
}

/** Returns a descriptor for reading only, because the kernel does not run a file that is open for writing. */
function writtenOnce(place: string, bytes: Buffer, access: number): number {
  const path = join(place, `seccomp-${randomBytes(12).toString("hex")}`);
  const fd = openSync(path, "wx", 0o555);
  try {
    writeSync(fd, bytes);
    accessSync(path, access);
    return openSync(path, "r");
  } finally {
    closeSync(fd);
    unlinkSync(path);
  }
}
