import { seccompFilter } from "../seccomp/filter.js";
import type { LaunchRequest, LinuxConfinement } from "./backend.js";
import { type Mount, SCRATCH_BYTES } from "./mount-plan.js";
import { atLeast, programVersion } from "./programs.js";

const FILTER_FD = 3;

/** Confines with bubblewrap, which makes the namespaces and the mounts and loads the filter from a descriptor. */
export const bubblewrap: LinuxConfinement = {
  name: "bubblewrap",
  programs: ["bwrap"],
  async inspect([file = ""], arch) {
    const version = await programVersion(file);
    const abilities: Abilities = {
      disablesUserNamespaces: atLeast(version, 0, 8),
      limitsScratch: atLeast(version, 0, 7),
      setsModes: atLeast(version, 0, 5),
    };
    return {
      version,
      filter: seccompFilter(arch),
      launch: (request) => [file, ...bubblewrapArguments(abilities, request)],
    };
  },
};

// --- internal ---

/** Features that depend on the version. */
interface Abilities {
  /** `--disable-userns` (0.8.0). With older versions the filter alone prevents user namespaces. */
  readonly disablesUserNamespaces: boolean;
  /** `--size` (0.7.0). */
  readonly limitsScratch: boolean;
  /** `--perms` (0.5.0). */
  readonly setsModes: boolean;
}

function bubblewrapArguments(abilities: Abilities, { plan, network, cwd, argv }: LaunchRequest): string[] {
  return [
    ...isolation(abilities, network),
    ...plan.mounts.flatMap((mount) => mountArguments(abilities, mount)),
    "--seccomp",
    String(FILTER_FD),
    "--chdir",
    cwd,
    "--",
    ...argv,
  ];
}

/** Unshares everything, drops capabilities, makes everything read-only, and adds its own devices and process list. */
function isolation(abilities: Abilities, network: boolean): string[] {
  return [
    "--unshare-all",
    ...(network ? ["--share-net"] : []),
    "--unshare-user",
    ...(abilities.disablesUserNamespaces ? ["--disable-userns"] : []),
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
    // Root owns the kernel settings in /proc and could write them without a capability. Some affect all namespaces.
    "--remount-ro",
    "/proc",
  ];
}

function mountArguments(abilities: Abilities, mount: Mount): string[] {
  const { path, view, kind } = mount;
  switch (view) {
    case "write":
      return ["--bind", path, path];
    case "read":
      return ["--ro-bind", path, path];
    case "scratch":
      return [...(abilities.limitsScratch ? ["--size", String(SCRATCH_BYTES)] : []), "--tmpfs", path];
    case "hide":
      if (kind === "file") return ["--ro-bind", "/dev/null", path];
      // The mode makes it read-only, which saves a slow remount. A command that changes the mode can only write into the empty mount.
      return abilities.setsModes ? ["--perms", "0555", "--tmpfs", path] : ["--tmpfs", path, "--remount-ro", path];
  }
}
