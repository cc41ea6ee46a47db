import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync } from "node:fs";
import { SandboxError } from "../errors.js";
import { descriptorsOf } from "../seccomp/descriptor.js";
import type { SeccompArch } from "../seccomp/syscalls.js";
import type { Backend, Launcher, LinuxConfinement } from "./backend.js";
import { bubblewrap } from "./bubblewrap.js";
import type { Confined } from "./confined.js";
import { holdPlaceholders } from "./placeholders.js";
import { findProgram } from "./programs.js";
import { shell } from "./shell.js";
import { utilLinux } from "./util-linux.js";

/** In the order of preference. */
export const CONFINEMENTS: readonly LinuxConfinement[] = [bubblewrap, utilLinux];

/** The first confinement that starts here; rejects with `sandbox_unavailable`, saying of each what keeps it from starting. */
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

// --- internal ---

const UNAVAILABLE_HINT =
  "install bubblewrap (apt install bubblewrap, dnf install bubblewrap) or allow unprivileged user namespaces, which both it and util-linux need, or choose sandbox mode off to run commands unconfined";

const PROBE_TIMEOUT_MS = 10_000;

/** What has started here once, for every workspace of the process; a failure is tried again, it may have been repaired. */
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

/** Many hosts forbid the namespaces that a confinement needs, so only a start shows whether it works. */
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
