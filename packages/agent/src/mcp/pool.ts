/** The MCP servers of each session: started when a turn first needs them, ended with the session. */
import type { Confine } from "../confine-port.js";
import type { Tool } from "../tool.js";
import type { McpClient } from "./client.js";
import type { ConfiguredServer } from "./config.js";

export interface McpPoolOptions {
  /** The environment that servers pick from; secrets in it do not reach them. @defaultValue a path and a home only */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** @defaultValue servers are not confined */
  readonly confine?: Confine;
  /** Whether servers may be reached over the network by sessions in `cwd`. @defaultValue always */
  readonly network?: (cwd: string) => boolean;
}

export interface McpRequest {
  readonly sessionId: string;
  readonly servers: readonly ConfiguredServer[];
  readonly cwd: string;
  /** Other directories of the workspace, for servers that are confined to it. @defaultValue none */
  readonly directories?: readonly string[];
  readonly signal: AbortSignal;
  /** Told what was left out, once per session and reason. */
  readonly notice: (text: string) => void;
}

export interface McpPool {
  /** The tools of all servers that answer; a server that does not costs a notice, never the turn. */
  tools(request: McpRequest): Promise<Tool[]>;
  /** Ends the servers of one session. */
  close(sessionId: string): Promise<void>;
  closeAll(): Promise<void>;
}

export function createMcpPool(options: McpPoolOptions = {}): McpPool {
  const sessions = new Map<string, SessionServers>();
  const close = async (sessionId: string) => {
    const session = sessions.get(sessionId);
    sessions.delete(sessionId);
    await endAll(session?.clients.values() ?? []);
  };
  return {
    tools: async (request) => {
      const session = sessions.get(request.sessionId) ?? { clients: new Map(), told: new Set() };
      if (request.servers.length === 0 && session.clients.size === 0) return [];
      sessions.set(request.sessionId, session);
      await endUnlisted(session, request.servers);
      const lists = await Promise.all(request.servers.map((server) => toolsOf(server, session, request, options)));
      return unique(lists.flat(), (text) => tell(session, request, text));
    },
    close,
    closeAll: async () => {
      await Promise.all([...sessions.keys()].map(close));
    },
  };
}

// --- internal ---

interface SessionServers {
  /** By what the server is, so that a changed configuration is another server. */
  readonly clients: Map<string, Promise<McpClient>>;
  readonly told: Set<string>;
}

async function toolsOf(
  server: ConfiguredServer,
  session: SessionServers,
  request: McpRequest,
  options: McpPoolOptions,
): Promise<Tool[]> {
  if (server.type === "sse") {
    tell(session, request, `The MCP server ${server.name} was skipped: the SSE transport is not supported.`);
    return [];
  }
  if (server.type === "http" && options.network?.(request.cwd) === false) {
    tell(session, request, `The MCP server ${server.name} was skipped: the sandbox allows no network.`);
    return [];
  }
  const key = keyOf(server);
  try {
    const client = await connection(key, server, session, request, options);
    const { adaptTool } = await import("./tool-adapter.js");
    return (await client.tools()).map((tool) => adaptTool(server.name, tool, client));
  } catch (error) {
    const failed = session.clients.get(key);
    session.clients.delete(key);
    // One that connected and cannot say what it offers would otherwise be left running, and another started each turn.
    if (failed) await endAll([failed]);
    request.signal.throwIfAborted();
    tell(session, request, (error as Error).message);
    return [];
  }
}

async function connection(
  key: string,
  server: ConfiguredServer,
  session: SessionServers,
  { cwd, directories = [], signal }: McpRequest,
  { env = {}, confine }: McpPoolOptions,
): Promise<McpClient> {
  const known = await session.clients.get(key)?.catch(() => null);
  if (known && !known.closed) return known;
  const connecting = import("./client.js").then(({ connectMcp }) =>
    connectMcp(server, { cwd, directories, env, signal, ...(confine && { confine }) }),
  );
  session.clients.set(key, connecting);
  return connecting;
}

async function endUnlisted({ clients }: SessionServers, servers: readonly ConfiguredServer[]): Promise<void> {
  const listed = new Set(servers.map(keyOf));
  const leaving = [...clients].filter(([key]) => !listed.has(key));
  for (const [key] of leaving) clients.delete(key);
  await endAll(leaving.map(([, client]) => client));
}

async function endAll(clients: Iterable<Promise<McpClient>>): Promise<void> {
  const ends = Array.from(clients, (client) => client.catch(() => null).then((open) => open?.close()));
  await Promise.all(ends);
}

function keyOf(server: ConfiguredServer): string {
  return JSON.stringify(server);
}

function tell({ told }: SessionServers, { notice }: McpRequest, text: string): void {
  if (told.has(text)) return;
  told.add(text);
  notice(text);
}

function unique(tools: readonly Tool[], notice: (text: string) => void): Tool[] {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    if (byName.has(tool.name)) notice(`Two MCP tools are called ${tool.name}; the first is used.`);
    else byName.set(tool.name, tool);
  }
  return [...byName.values()];
}
