/** The paths of this product's data. `$CHIMERA_HOME` moves all of them, `$CHIMERA_SNAPSHOT_ROOT` the snapshots, `--store` those of the store. */
import { accessSync, constants, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { dirname, join, resolve, sep } from "node:path";

export type Paths = Readonly<ReturnType<typeof resolvePaths>>;

/**
 * Every start resolves them, so names are added as text: `join` reads a path character by character, and V8 optimizes it after so many,
 * which costs 4 MiB and 3 ms.
 *
 * @param store the address of a store that replaces the one below the data directory.
 */
export function resolvePaths(env: NodeJS.ProcessEnv, store: string | null = null) {
  // An empty HOME would make the current directory the home.
  const home = homedir() || userInfo().homedir;
  const root = resolve(env["CHIMERA_HOME"] || join(home, ".chimera"));
  const stored = storedIn((store && storeDirectory(store, home)) ?? root);
  const inRoot = (name: string): string => root + sep + name;
  const own = (variable: string, name: string): string => (env[variable] ? resolve(env[variable]) : inRoot(name));
  const snapshots = own("CHIMERA_SNAPSHOT_ROOT", "snapshots");
  const [run, outputs] = [inRoot("run"), inRoot("outputs")];
  return {
    home,
    root,
    ...stored,
    snapshots,
    run,
    shares: inRoot("shares"),
    outputs,
    /** The directories with data of all sessions, which no tool may touch. */
    hidden: [snapshots, run, outputs, ...Object.values(stored)],
    permissions: own("CHIMERA_PERMISSIONS_FILE", "permissions.json"),
    /** The directories that the person trusts. */
    trusted: inRoot("trusted.json"),
    /** The people who may call a server, with the digests of their tokens. */
    people: inRoot("people.json"),
    config: inRoot("config.json"),
    /** Whether sessions are kept somewhere else than below the data directory. */
    isStoreElsewhere: store !== null && storeDirectory(store, home) !== root,
    /** A file that is there once such a store was used: what is kept here for a session may belong to a session of that store. */
    otherStores: inRoot("other-stores"),
  };
}

/** Whether an address of a store names a database. */
export function isDatabase(store: string | null): boolean {
  return /^postgres(ql)?:/.test(store ?? "");
}

/** The directory that an address of a store names; null for any other address. */
export function storeDirectory(address: string, home: string): string | null {
  const [, path] = /^file:(?:\/\/)?(.+)$/.exec(address) ?? [];
  return path === undefined ? null : resolve(path.replace(/^~(?=\/|$)/, home));
}

/** The directories that a store of files has below its own. */
export function storedIn(directory: string) {
  const at = (name: string): string => directory + sep + name;
  return { eventlog: at("eventlog"), heartbeats: at("run"), audit: at("audit"), remembered: at("remembered") };
}

/** Makes the data directory, or throws an error that says why it is not writable. Called before anything starts. */
export function requireWritable(root: string): void {
  try {
    makeDirectory(root);
    accessSync(root, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw unwritable(root, cause);
  }
}

/** The error for a path of the data directory that cannot be written: names it and says what to do. */
export function unwritable(path: string, cause: unknown): Error {
  const { code = "" } = cause as NodeJS.ErrnoException;
  const way = code === "ENOSPC" ? "make room on its disk" : "set CHIMERA_HOME to a directory that you can write to";
  // With `syscall` it is reported like an error of the system: exit code 1 and no stack.
  return Object.assign(new Error(`cannot write to ${path} (${code}); ${way}`, { cause }), { code, syscall: "access" });
}

/** Whether the sessions of this home are all in the store that is asked: neither this program nor an earlier one named another. */
export function isOnlyStore({
  isStoreElsewhere,
  otherStores,
}: Pick<Paths, "isStoreElsewhere" | "otherStores">): boolean {
  return !isStoreElsewhere && !existsSync(otherStores);
}

export function noteOtherStore({ root, otherStores }: Pick<Paths, "root" | "otherStores">): void {
  makeDirectory(root);
  writeFileSync(otherStores, "");
}

/** Makes one level at a time: Node's recursive `mkdir` never returns on a file system that takes no directories, such as `/proc`. */
export function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  if (dirname(path) !== path) makeDirectory(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
