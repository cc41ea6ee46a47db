/** The one place that opens storage, from one setting: a directory, or a database that several nodes share. */
import { lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { AnswerLines, AuditChain, AuditChains } from "@chimera/acp-schema/policy";
import type { Summary } from "@chimera/acp-schema/summary";
import { createFileStore, type EventStore } from "@chimera/event-store";
import { sessionSummaries } from "@chimera/session";
import type { PostgresStorage } from "@chimera/store-postgres";
import { UsageError } from "./command/usage-error.js";
import type { Config } from "./config/read-config.js";
import type { Log } from "./log/log.js";
import { isDatabase, storeDirectory, storedIn } from "./paths.js";

export interface Storage {
  readonly store: EventStore<SessionEvent, Summary>;
  /** What the nodes of a database share; null with files. */
  readonly shared: PostgresStorage<SessionEvent, Summary> | null;
  /** Remembered answers and chains of decisions. Their code is loaded here. */
  kept(): Promise<Kept>;
  /** Where a session is stored, for people: the directory of its log, or a place in a database. */
  pathOf(id: string): string;
  /** The size of a session there, in bytes. */
  sizeOf(id: string): Promise<number>;
}

export interface Kept {
  readonly answers: AnswerLines;
  /** The chain of this process's decisions. */
  readonly audit: AuditChain;
  /** That chain and those of other processes. */
  readonly chains: AuditChains;
}

export type StorageOptions = Pick<Config, "paths" | "values"> & {
  readonly program: string;
  /** Replaces the setting. */
  readonly address?: string;
  readonly log?: Pick<Log, "warn">;
};

/** Opens the store. The driver of a database is loaded only when one is named. */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { paths, values, program, log } = options;
  const address = options.address ?? values.store ?? `file:${paths.root}`;
  if (isDatabase(address)) return openDatabase(address, options);
  const root = storeDirectory(address, paths.home);
  if (root === null)
    throw new UsageError(
      `--store takes file:<dir> or postgres://<user>@<host>/<database>, not ${JSON.stringify(address)}`,
    );
  const { eventlog, audit, remembered } = storedIn(root);
  const store = createFileStore<SessionEvent, Summary>({
    root,
    program,
    syncsInFlight: SYNCS_IN_FLIGHT,
    summaries: sessionSummaries,
    durability: values.durability,
    onTornTail: (session, where) => log?.warn("the log ended in a torn record", { session, where }),
  });
  return {
    store,
    shared: null,
    async kept() {
      const { answerFiles, auditFiles, fileChain } = await import("@chimera/policy");
      return { answers: answerFiles(remembered), audit: fileChain(audit), chains: auditFiles(audit) };
    },
    pathOf: (id) => join(eventlog, id),
    sizeOf: (id) => bytesBelow(join(eventlog, id)),
  };
}

/** Call before any file I/O: libuv reads the pool size on first use. The variable is removed again, because children must not inherit it. */
export function startFileThreads(env: NodeJS.ProcessEnv): void {
  if (env[SIZE] !== undefined) return;
  env[SIZE] = String(THREADS);
  void stat(".").catch(() => {});
  delete env[SIZE];
}

/** The size of all files below a directory. A file that is removed meanwhile counts 0. */
export async function bytesBelow(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => !entry.isDirectory());
  let bytes = 0;
  for (const { parentPath, name } of files) bytes += (await lstat(join(parentPath, name)).catch(() => null))?.size ?? 0;
  return bytes;
}

// --- internal ---

async function openDatabase(address: string, { values, program, log }: StorageOptions): Promise<Storage> {
  const { openPostgres } = await import("@chimera/store-postgres");
  const { host, pathname } = new URL(address.replace(/@([^/,]*),[^/]*/, "@$1"));
  const place = `${host}${pathname}`;
  const shared = await openPostgres<SessionEvent, Summary>({
    url: address,
    program,
    summaries: sessionSummaries,
    ...(values.workspace_host !== null && { workspaceHost: values.workspace_host }),
    onError: (error) => log?.warn("the database does not answer", { place, error: String(error) }),
  }).catch((error: { code?: string; message?: string }) => {
    throw new UsageError(`--store: ${place}: ${error.message || error.code}`);
  });
  if (!shared.server.hasSynchronousStandby)
    log?.warn("the database has no synchronous standby: when its disk dies, acknowledged records are lost", { place });
  return {
    store: shared.store,
    shared,
    kept: async () => shared,
    pathOf: (id) => `${place}/${id}`,
    sizeOf: shared.sizeOf,
  };
}

/** Measured with 500 writing sessions: eight syncs at once take half the time of two, and leave four threads for reads. */
const THREADS = 12;
const SYNCS_IN_FLIGHT = THREADS - 4;

const SIZE = "UV_THREADPOOL_SIZE";
