/** `@chimera/store-postgres`: sessions in PostgreSQL, for any number of nodes. */
import { hostname } from "node:os";
import type { AnswerLines, AuditChain, AuditChains } from "@chimera/acp-schema/policy";
import { type EventBody, type EventStore, StoreError, type SummaryForm } from "@chimera/event-store";
import { createStore } from "@chimera/event-store/backend";
import { createBackend } from "./backend.js";
import { connect, untilKnown } from "./connect.js";
import { createFollowing } from "./follow.js";
import { createInbox, type Inbox } from "./inbox.js";
import { createAnswers, createChain, createChains } from "./kept.js";
import { createLease } from "./lease.js";
import { createNodes, type Nodes } from "./nodes.js";
import { inspectServer, migrate, refusalOf, type ServerReport } from "./schema.js";

export type { Inbox } from "./inbox.js";
export type { Nodes, TokenHashes } from "./nodes.js";
export type { ServerReport } from "./schema.js";

export interface PostgresOptions<E extends EventBody, S extends object> {
  /** `postgres://user@host/database`. It may name several hosts with `target_session_attrs=read-write`, and set `lease` in seconds. */
  readonly url: string;
  readonly summaries?: SummaryForm<E, S>;
  /** The program's name, which other nodes show when this one holds a session. */
  readonly program?: string;
  /** Nodes with the same host name have the same files, and take over each other's sessions. @defaultValue this machine's name */
  readonly workspaceHost?: string;
  /** Called with errors from which the store recovers by itself. */
  readonly onError?: (error: unknown) => void;
  /** @defaultValue Date.now */
  readonly clock?: () => number;
}

export interface PostgresStorage<E extends EventBody, S extends object> extends Nodes {
  readonly store: EventStore<E, S>;
  readonly inbox: Inbox;
  /** The remembered answers for the workspaces of this node's host. */
  readonly answers: AnswerLines;
  /** The chain of decisions of all nodes. */
  readonly audit: AuditChain;
  /** That chain, and the chains that were copied into the database. */
  readonly chains: AuditChains;
  readonly server: ServerReport;
  /** The name by which other nodes know this process. */
  readonly node: string;
  close(): Promise<void>;
}

/** Seconds. */
const LEASE = { usual: 10, least: 1, most: 600 };

/**
 * Connects, refuses a server that would lose acknowledged records, and brings the tables up to date.
 *
 * @example
 * const { store, close } = await openPostgres({ url: "postgres://chimera@db.internal/chimera" });
 * const writer = await store.create("otter-20260425T120300-aaaa1111", { title: "hello" });
 */
export async function openPostgres<E extends EventBody, S extends object>(
  options: PostgresOptions<E, S>,
): Promise<PostgresStorage<E, S>> {
  const { workspaceHost: host = hostname(), onError = () => {}, summaries: form, program = null, clock } = options;
  const { url, leaseMs } = readAddress(options.url);
  const connections = connect(url, leaseMs);
  let server: ServerReport;
  try {
    // Try each named server once.
    let left = connections.servers;
    server = await untilKnown(
      () => inspectServer(connections.writes),
      () => --left <= 0,
    );
    const refusal = refusalOf(server);
    if (refusal !== null) throw new StoreError("unsupported_format", refusal);
    await migrate(connections.writes);
  } catch (error) {
    await connections.close();
    throw error;
  }
  const lease = createLease(connections, { host, program, leaseMs, onError });
  const following = createFollowing<E>(connections);
  const adopted = new Set<string>();
  const inbox = createInbox(connections, lease, host);
  const backend = createBackend<E, S>({ connections, lease, following, host, adopted, form });
  const store = createStore<E, S>(
    {
      ...backend,
      async close() {
        following.close();
        await inbox.close();
        await lease.end().catch(onError);
        await connections.close();
      },
    },
    clock ? { clock } : {},
  );
  const nodes = createNodes(connections, { lease, host, adopted, onError });
  const kept = { connections, host, patienceMs: leaseMs };
  return {
    ...nodes,
    store,
    inbox,
    answers: createAnswers(kept),
    audit: createChain(kept),
    chains: createChains(kept),
    server,
    node: lease.node,
    close: () => store.close(),
  };
}

// --- internal ---

/** Removes this store's own parameters from the address: the driver would send them to the server. */
function readAddress(text: string): { url: string; leaseMs: number } {
  const [, lease] = /[?&]lease=([^&]*)/.exec(text) ?? [];
  const seconds = lease === undefined ? LEASE.usual : Number(lease);
  if (!(seconds >= LEASE.least && seconds <= LEASE.most))
    throw new StoreError("unsupported_format", `lease=${lease}: between ${LEASE.least} and ${LEASE.most} seconds`);
  const url = text.replace(/([?&])lease=[^&]*&?/, "$1").replace(/[?&]$/, "");
  return { url, leaseMs: seconds * 1000 };
}
