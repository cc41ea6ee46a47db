import { seccompFilter } from "../seccomp/filter.js";
import { seccompLoader } from "../seccomp/loader.js";
import type { LaunchRequest, LinuxConfinement } from "./backend.js";
import { atLeast, programVersion } from "./programs.js";
import { SETUP_SCRIPT } from "./setup-script.js";
import { findVolumes, stageMounts } from "./staging.js";

/** What most Linuxes have: `unshare`, `mount`, `setpriv`; a program written out here loads the filter. */
export const utilLinux: LinuxConfinement = {
  name: "util-linux",
  programs: ["unshare", "setpriv", "mount", "umount", "mkdir", "cp", "env"],
  async inspect(programs, arch) {
    const [unshare = "", setpriv = "", mount = "", umount = "", mkdir = "", cp = "", env = ""] = programs;
    const version = await programVersion(unshare);
    // Before 2.38 what `unshare` starts ignores these signals.
    const hearing = atLeast(version, 2, 38) ? [] : [env, "--default-signal=INT,TERM", "--"];
    return {
      version,
      filter: seccompLoader(arch, seccompFilter(arch)),
      launch: (request) => [
        // It ends with the process that spawns it, and everything inside ends with it.
        ...([setpriv, "--pdeathsig", "KILL", "--"] as const),
        // The others are made after it: what is made together with a user namespace belongs to nobody in it.
        ...[unshare, "--user", "--map-root-user", "--"],
        ...[unshare, ...NAMESPACES, ...(request.network ? [] : ["--net"]), "--"],
        ...["/bin/sh", "-c", SETUP_SCRIPT, "sandbox", unshare, setpriv, mount, umount, mkdir, cp],
        ...setupArguments(request),
        ...hearing,
        ...request.argv,
      ],
    };
  },
};

// --- internal ---

const NAMESPACES = "--mount --propagation private --pid --fork --kill-child --ipc --uts --cgroup".split(" ");

/** In the order in which the script takes them. */
function setupArguments({ plan, network, cwd }: LaunchRequest): string[] {
  const { fresh, writable, binds, anchors, files } = stageMounts(plan.mounts, findVolumes(plan.mounts), network);
  const held = anchors.flatMap(({ path, slot }) => [path, slot]);
  return [fresh, writable.join(" "), binds, cwd, ...held, "--", ...files, "--"];
}
