/** Where this product keeps things. `$CHIMERA_HOME` moves all of it, `$CHIMERA_SNAPSHOT_ROOT` the snapshots alone. */
import { homedir, userInfo } from "node:os";
import { join, resolve } from "node:path";

export type Paths = Readonly<ReturnType<typeof resolvePaths>>;

export function resolvePaths(env: NodeJS.ProcessEnv) {
  // An empty HOME would make the current directory the home.
  const home = homedir() || userInfo().homedir;
  const root = resolve(env["CHIMERA_HOME"] || join(home, ".chimera"));
  return {
    home,
    root,
    eventlog: join(root, "eventlog"),
    snapshots: resolve(env["CHIMERA_SNAPSHOT_ROOT"] || join(root, "snapshots")),
    run: join(root, "run"),
    shares: join(root, "shares"),
    outputs: join(root, "outputs"),
    audit: join(root, "audit"),
    remembered: join(root, "remembered"),
    permissions: resolve(env["CHIMERA_PERMISSIONS_FILE"] || join(root, "permissions.json")),
    /** The directories that the person trusts. */
    trusted: join(root, "trusted.json"),
    /** The people who may call a server, with the digests of their tokens. */
    people: join(root, "people.json"),
    config: join(root, "config.json"),
  };
}
