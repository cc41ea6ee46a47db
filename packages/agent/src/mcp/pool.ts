/** The MCP servers of each session, connected in the background. A turn waits briefly for new servers, and not for the others. */
import { backoff } from "@chimera/acp-schema/timer";
import type { Confine } from "../confine-port.js";
import { within } from "../loop/patience.js";
import type { Tool } from "../tool.js";
import type { McpClient, McpTool } from "./client.js";
import type { ConfiguredServer } from "./config.js";

export interface McpPoolOptions {
  /** Servers get variables from here, except secrets. @defaultValue a path and a home only */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** @defaultValue servers are not confined */
  readonly confine?: Confine | undefined;
  /** Whether sessions in `cwd` may reach servers over the network. @defaultValue always */
  readonly network?: ((cwd: string) => boolean) | undefined;
  /** How long a turn waits for a server that is new to it, in milliseconds. @defaultValue 3000 */
  readonly patienceMs?: number | undefined;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

export interface McpRequest {
  readonly sessionId: string;
  readonly servers: readonly ConfiguredServer[];
  readonly cwd: string;
  /** Other directories of the workspace, for servers that are confined to it. @defaultValue none */
  readonly directories?: readonly string[];
  readonly signal: AbortSignal;
  /** Receives a sentence on what was left out, once per session, server and kind of failure. */
  readonly notice: (text: string) => void;
}

/** The tools and instructions of the servers that have answered so far. */
export interface McpOffer {
  readonly tools: readonly Tool[];
  /** The usage instructions of each server. */
  readonly instructions: readonly { readonly server: string; readonly text: string }[];
}

export interface McpPool {
  /** A server that does not answer causes a notice and does not fail the turn. Rejects only when the turn is cancelled. */
  offer(request: McpRequest): Promise<McpOffer>;
  /** Ends the servers of one session. */
  close(sessionId: string): Promise<void>;
  closeAll(): Promise<void>;
}

/**
 * Connections to MCP servers, shared by the sessions that name the same server.
 *
 * @example
 * const pool = createMcpPool({ env: process.env, patienceMs: 5_000 });
 */
export function createMcpPool(options: McpPoolOptions = {}): McpPool {
  const sessions = new Map<string, SessionServers>();
  const close = async (sessionId: string) => {
    const session = sessions.get(sessionId);
    sessions.delete(sessionId);
    session?.lifetime.abort(new DOMException("the session was closed", "AbortError"));
    await Promise.all([...(session?.links.values() ?? [])].map(end));
  };
  return {
    async offer(request) {
      if (request.servers.length === 0 && !sessions.has(request.sessionId)) return NOTHING;
      const session = sessions.get(request.sessionId) ?? {
        links: new Map(),
        noticed: new Set(),
        lifetime: new AbortController(),
      };
      sessions.set(request.sessionId, session);
      await endUnlisted(session, request.servers);
      const links = request.servers.flatMap((server) => linkTo(server, session, request, options));
      await waitForNew(links, options.patienceMs ?? PATIENCE_MS, request.signal);
      return gather(links, session, request);
    },
    close,
    closeAll: async () => {
      await Promise.all([...sessions.keys()].map(close));
    },
  };
}

// --- internal ---

const PATIENCE_MS = 3_000;
/** How long a turn waits for a changed list of tools. A later list is used from the next turn on. */
const RELIST_MS = 1_000;
/** The pause after the second failure in a row. It doubles with each further failure. */
const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 300_000;
const NOTHING: McpOffer = { tools: [], instructions: [] };

interface SessionServers {
  /** Keyed by the whole configuration, so that a changed configuration counts as another server. */
  readonly links: Map<string, Link>;
  /** Keys of the notices that were sent. */
  readonly noticed: Set<string>;
  readonly lifetime: AbortController;
}

/** The state of one server, kept across its failures. */
interface Link {
  readonly server: ConfiguredServer;
  /** Set while connecting; never rejects. */
  connecting: Promise<void> | null;
  client: McpClient | null;
  tools: readonly McpTool[];
  /** Why the last attempt failed. */
  failure: Error | null;
  failures: number;
  /** The time of the next attempt at the earliest. */
  retryAt: number;
  /** Whether a turn has already waited for it. */
  waited: boolean;
}

function linkTo(
  server: ConfiguredServer,
  session: SessionServers,
  request: McpRequest,
  options: McpPoolOptions,
): Link[] {
  const skip = (why: string) => {
    noticeOnce(session, request, `skip ${server.name}`, `The MCP server ${server.name} was skipped: ${why}.`);
    return [];
  };
  if (server.type === "sse") return skip("the SSE transport is not supported");
  if (server.type === "http" && options.network?.(request.cwd) === false) return skip("the sandbox allows no network");
  const key = keyOf(server);
  const link = session.links.get(key) ?? newLink(server);
  session.links.set(key, link);
  const now = options.now ?? (() => performance.now());
  if (link.client?.closed) {
    // It worked before, so let the turn wait for it as for a new server.
    link.client = null;
    link.waited = false;
  }
  if (!link.client && !link.connecting && now() >= link.retryAt) connect(link, session, request, options, now);
  return [link];
}

function newLink(server: ConfiguredServer): Link {
  return { server, connecting: null, client: null, tools: [], failure: null, failures: 0, retryAt: 0, waited: false };
}

function connect(
  link: Link,
  session: SessionServers,
  { cwd, directories = [] }: McpRequest,
  { env = {}, confine }: McpPoolOptions,
  now: () => number,
): void {
  const { signal } = session.lifetime;
  const attempt = async () => {
    const { connectMcp } = await import("./client.js");
    const client = await connectMcp(link.server, { cwd, directories, env, signal, confine });
    try {
      link.tools = await client.tools();
    } catch (error) {
      await client.close();
      throw error;
    }
    if (signal.aborted) return client.close();
    link.client = client;
    link.failure = null;
    link.failures = 0;
  };
  link.connecting = attempt()
    .catch((error: unknown) => {
      link.failure = error as Error;
      link.failures++;
      link.retryAt = now() + (link.failures === 1 ? 0 : backoff(link.failures - 2, FIRST_PAUSE_MS, LONGEST_PAUSE_MS));
    })
    .finally(() => {
      link.connecting = null;
    });
}

async function waitForNew(links: readonly Link[], ms: number, signal: AbortSignal): Promise<void> {
  const fresh = links.filter((link) => link.connecting && !link.waited);
  for (const link of links) link.waited = true;
  if (fresh.length > 0) await within(ms, signal, Promise.all(fresh.map((link) => link.connecting)));
  signal.throwIfAborted();
}

async function gather(links: readonly Link[], session: SessionServers, request: McpRequest): Promise<McpOffer> {
  const { adaptTool, resourceTools } = await import("./tool-adapter.js");
  await Promise.all(links.map((link) => relist(link, request.signal)));
  for (const { server, client, connecting, failure } of links) {
    if (client) continue;
    if (failure) noticeOnce(session, request, `failed ${server.name}`, failure.message);
    else if (connecting)
      noticeOnce(
        session,
        request,
        `slow ${server.name}`,
        `The MCP server ${server.name} is still starting; its tools come with a later turn.`,
      );
  }
  const ready = links.flatMap(({ server: { name }, client, tools }) => (client ? [{ name, client, tools }] : []));
  const tools = ready.flatMap(({ name, client, tools }) => tools.map((tool) => adaptTool(name, tool, client)));
  return {
    tools: [
      ...unique(tools, (name) =>
        noticeOnce(session, request, `twice ${name}`, `Two MCP tools are called ${name}; the first is used.`),
      ),
      ...resourceTools(ready.filter(({ client }) => client.hasResources)),
    ],
    instructions: ready.flatMap(({ name: server, client: { instructions: text } }) => (text ? [{ server, text }] : [])),
  };
}

/** Gets the list of tools again if the server said that it has changed. */
async function relist(link: Link, signal: AbortSignal): Promise<void> {
  const listing = link.client?.tools().then(
    (tools) => {
      link.tools = tools;
    },
    () => {},
  );
  if (listing) await within(RELIST_MS, signal, listing);
}

async function endUnlisted({ links }: SessionServers, servers: readonly ConfiguredServer[]): Promise<void> {
  const listed = new Set(servers.map(keyOf));
  const leaving = [...links].filter(([key]) => !listed.has(key));
  for (const [key] of leaving) links.delete(key);
  // A server that is still connecting is ended once it has connected. The turn does not wait for that.
  for (const [, link] of leaving) void link.connecting?.then(() => end(link));
  await Promise.all(leaving.map(([, link]) => link.client?.close()));
}

async function end(link: Link): Promise<void> {
  await link.connecting;
  await link.client?.close();
}

function keyOf(server: ConfiguredServer): string {
  return JSON.stringify(server);
}

function noticeOnce({ noticed }: SessionServers, { notice }: McpRequest, key: string, text: string): void {
  if (noticed.has(key)) return;
  noticed.add(key);
  notice(text);
}

function unique(tools: readonly Tool[], onTwice: (name: string) => void): Tool[] {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    if (byName.has(tool.name)) onTwice(tool.name);
    else byName.set(tool.name, tool);
  }
  return [...byName.values()];
}
