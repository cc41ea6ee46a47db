/** `@chimera/store-postgres`: sessions in PostgreSQL, for as many nodes as there are. */
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
  /** `postgres://user@host/database`, also with several hosts and `target_session_attrs=read-write`; `lease` is in seconds. */
  readonly url: string;
  readonly summaries?: SummaryForm<E, S>;
  /** The program's name, for those who find a session open. */
  readonly program?: string;
  /** Nodes that name the same host have the same files, and take over each other's sessions. @defaultValue this machine's name */
  readonly workspaceHost?: string;
  /** Called with trouble that the store goes on from by itself. */
  readonly onError?: (error: unknown) => void;
  /** @defaultValue Date.now */
  readonly clock?: () => number;
}

export interface PostgresStorage<E extends EventBody, S extends object> extends Nodes {
  readonly store: EventStore<E, S>;
  readonly inbox: Inbox;
  /** What was answered for good, for the workspaces of this node's host. */
  readonly answers: AnswerLines;
  /** What is decided, on all nodes. */
  readonly audit: AuditChain;
  /** That chain, and those that were copied. */
  readonly chains: AuditChains;
  readonly server: ServerReport;
  /** This process, as other nodes see it. */
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
    // Each server that is named gets its turn.
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

/** Takes what is for this store out of the address: the driver would hand it to the server. */
function readAddress(text: string): { url: string; leaseMs: number } {
  const [, lease] = /[?&]lease=([^&]*)/.exec(text) ?? [];
  const seconds = lease === undefined ? LEASE.usual : Number(lease);
  if (!(seconds >= LEASE.least && seconds <= LEASE.most))
    throw new StoreError("unsupported_format", `lease=${lease}: between ${LEASE.least} and ${LEASE.most} seconds`);
  const url = text.replace(/([?&])lease=[^&]*&?/, "$1").replace(/[?&]$/, "");
  return { url, leaseMs: seconds * 1000 };
}
