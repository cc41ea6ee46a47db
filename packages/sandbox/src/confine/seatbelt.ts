import { existsSync } from "node:fs";
import { SandboxError } from "../errors.js";
import type { Backend } from "./backend.js";
import { shell } from "./environment.js";
import type { MountPlan } from "./mount-plan.js";

/** The confinement program of macOS. */
const SEATBELT = "/usr/bin/sandbox-exec";

/** The scratch directories of macOS programs, which private mounts cannot replace there. */
const SCRATCH = ["/private/tmp", "/private/var/tmp", "/private/var/folders"];

/** Throws `sandbox_unavailable`. */
export function seatbeltBackend(): Backend {
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

/** A seatbelt profile with the same effect as the mounts. Later rules win, so protection comes last. Paths are already resolved. */
export function seatbeltProfile(plan: MountPlan, options: { writes: boolean; network: boolean }): string {
  const inPlan = (view: string): string[] => plan.mounts.filter((mount) => mount.view === view).map(({ path }) => path);
  const writable = options.writes ? [...SCRATCH, ...inPlan("write")] : SCRATCH;
  const sealed = [...(options.writes ? inPlan("read") : []), ...inPlan("hide")];
  return [
    "(version 1)",
    "(deny default)",
    "(allow process-exec)",
    "(allow process-fork)",
    "(allow signal (target same-sandbox))",
    "(allow process-info* (target same-sandbox))",
    "(allow sysctl-read)",
    "(allow pseudo-tty)",
    '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo") (global-name "com.apple.trustd.agent"))',
    "(allow file-read*)",
    '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))',
    ...rule("allow", "file-write*", writable),
    ...rule("deny", "file-write*", sealed),
    ...rule("deny", "file-read*", inPlan("hide")),
    ...(options.network
      ? [
          '(allow network-outbound (remote ip "*:*"))',
          '(allow network-bind network-inbound (local ip "*:*"))',
          '(allow network-outbound (literal "/private/var/run/mDNSResponder"))',
          "(allow system-socket (socket-domain 2) (socket-domain 30))",
        ]
      : []),
  ].join("\n");
}

// --- internal ---

function rule(verb: "allow" | "deny", operation: string, paths: readonly string[]): string[] {
  return paths.length === 0
    ? []
    : [`(${verb} ${operation} ${paths.map((path) => `(subpath ${quote(path)})`).join(" ")})`];
}

function quote(path: string): string {
  return `"${path.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
