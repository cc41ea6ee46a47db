import { existsSync } from "node:fs";
import { SandboxError } from "../errors.js";
import { seccompArch } from "../seccomp/filter.js";
import type { Backend } from "./backend.js";
import { findLinuxBackend } from "./linux.js";
import { SEATBELT, seatbeltProfile } from "./seatbelt.js";
import { shell } from "./shell.js";

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
  return findLinuxBackend(arch, path, roots);
}

// --- internal ---

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
