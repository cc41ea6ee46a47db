import { closeSync, existsSync } from "node:fs";
import { SandboxError } from "../errors.js";
import { descriptorsOf } from "../seccomp/descriptor.js";
import { seccompArch, seccompFilter } from "../seccomp/filter.js";
import { type Bubblewrap, bubblewrapArguments, findBubblewrap, probeBubblewrap } from "./bubblewrap.js";
import type { Confined } from "./confined.js";
import type { MountPlan } from "./mount-plan.js";
import { holdPlaceholders } from "./placeholders.js";
import { SEATBELT, seatbeltProfile } from "./seatbelt.js";
import { shell } from "./shell.js";

/** What turns a plan into something to spawn on this machine. */
export interface Backend {
  readonly name: "bubblewrap" | "seatbelt";
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

/** The wall of this machine, none of it inside `roots`; rejects with `sandbox_unavailable` or `unsupported_platform`. */
export async function findBackend(path: string | undefined, roots: readonly string[]): Promise<Backend> {
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
    const backend = proven.get(file) ?? bubblewrapBackend(await probeBubblewrap(file), seccompFilter(arch));
    proven.set(file, backend);
    return backend;
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message.trim().split("\n").at(-1) : String(cause);
    throw new SandboxError("sandbox_unavailable", `${file} cannot start here: ${detail}`, UNAVAILABLE_HINT, { cause });
  }
}

// --- internal ---

const UNAVAILABLE_HINT =
  "install bubblewrap (apt install bubblewrap, dnf install bubblewrap) and allow unprivileged user namespaces, or choose sandbox mode off to run commands unconfined";

const FILTER_FD = 3;

/** What has started here once, for every workspace of the process; a failure is tried again, it may have been repaired. */
const proven = new Map<string, Backend>();

function bubblewrapBackend(bubblewrap: Bubblewrap, filter: Buffer): Backend {
  const openFilter = descriptorsOf(filter);
  return {
    name: "bubblewrap",
    version: bubblewrap.version,
    confine({ plan, env, cwd, command, network }) {
      const removePlaceholders = holdPlaceholders(plan.placeholders);
      let fd: number | undefined;
      try {
        fd = openFilter();
      } catch (error) {
        removePlaceholders();
        throw error;
      }
      return {
        file: bubblewrap.file,
        args: bubblewrapArguments(bubblewrap, { plan, network, cwd, filterFd: FILTER_FD, argv: shell(command) }),
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
