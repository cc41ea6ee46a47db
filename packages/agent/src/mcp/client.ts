/**
 * A client for the part of the Model Context Protocol that an agent needs: the handshake, tools and resources. It is our own because
 * the official client costs half a megabyte and a tenth of a second for the same few methods, and does not end the child processes
 * of the servers that it starts.
 */
import { pathToFileURL } from "node:url";
import { startOf } from "@chimera/acp-schema/text";
import type { Bounds, Confine } from "../confine-port.js";
import { AgentError } from "../errors.js";
import { asText, isJsonObject, type JsonObject } from "../json.js";
import { withDeadline } from "../loop/patience.js";
import type { Channel, ChannelEvents } from "./channel.js";
import type { ConfiguredServer } from "./config.js";
import { openHttpChannel } from "./http-channel.js";
import { commandLine, openStdioChannel } from "./stdio-channel.js";

/** As the server sent it. Only the name has been validated. */
export interface McpTool {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
}

/** As the server sent it. Only the address has been validated. */
export interface McpResource {
  readonly uri: string;
  readonly name?: unknown;
  readonly description?: unknown;
}

export interface McpCallOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: ((text: string) => void) | undefined;
}

export interface McpClient {
  /** The list is cached until the server says that its tools have changed. */
  tools(): Promise<readonly McpTool[]>;
  call(tool: string, args: Readonly<Record<string, unknown>>, options: McpCallOptions): Promise<JsonObject>;
  /** The server's usage instructions; empty when it gives none. */
  readonly instructions: string;
  readonly hasResources: boolean;
  resources(options: McpCallOptions): Promise<readonly McpResource[]>;
  readResource(uri: string, options: McpCallOptions): Promise<JsonObject>;
  readonly closed: boolean;
  close(): Promise<void>;
}

export interface McpClientOptions {
  readonly cwd: string;
  readonly directories: readonly string[];
  /** Confines a server that this process starts. @defaultValue not confined */
  readonly confine?: Confine | undefined;
  /** A server that this process starts gets variables from here, except secrets. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

const CONNECT_TIMEOUT_MS = 30_000;
const CALL_TIMEOUT_MS = 300_000;
const MAX_PAGES = 20;
const MAX_LISTED = 500;
const MAX_INSTRUCTIONS = 2_000;

/**
 * Connects and does the handshake. Throws `mcp_connect` with the reason when that fails.
 *
 * @example
 * const client = await connectMcp(server, { cwd, directories: [], env: process.env, signal });
 */
export async function connectMcp(server: ConfiguredServer, options: McpClientOptions): Promise<McpClient> {
  const bounds = await boundsFor(server, options);
  let listed: Promise<McpTool[]> | null = null;
  const peer = createPeer(server, options, bounds, () => {
    listed = null;
  });
  const connectMs = server.timeoutMs ?? CONNECT_TIMEOUT_MS;
  let greeting: JsonObject = {};
  try {
    await withDeadline(options.signal, connectMs, async (signal) => {
      greeting = await peer.request("initialize", HANDSHAKE, { signal });
      await peer.notify("notifications/initialized", {}, signal);
    });
  } catch (cause) {
    await peer.close();
    throw new AgentError("mcp_connect", `The MCP server ${server.name} did not connect: ${(cause as Error).message}`, {
      cause,
    });
  }
  const within = <T>(outer: AbortSignal, use: (signal: AbortSignal) => Promise<T>) =>
    withDeadline(outer, server.timeoutMs ?? CALL_TIMEOUT_MS, use);
  const { instructions, capabilities } = greeting;
  return {
    instructions: typeof instructions === "string" ? startOf(instructions.trim(), MAX_INSTRUCTIONS) : "",
    hasResources: isJsonObject(capabilities) && isJsonObject(capabilities["resources"]),
    resources: ({ signal: outer }) => within(outer, (signal) => listAll<McpResource>(peer, "resources", "uri", signal)),
    readResource: (uri, { signal: outer }) =>
      within(outer, (signal) => peer.request("resources/read", { uri }, { signal })),
    tools: () => {
      listed ??= withDeadline(peer.lifetime, connectMs, (signal) =>
        listAll<McpTool>(peer, "tools", "name", signal),
      ).catch((error: unknown) => {
        listed = null;
        throw error;
      });
      return listed;
    },
    call: (name, args, { signal: outer, onProgress }) =>
      within(outer, (signal) => peer.request("tools/call", { name, arguments: args }, { signal, onProgress })),
    get closed() {
      return peer.closed;
    },
    close: peer.close,
  };
}

// --- internal ---

type Peer = ReturnType<typeof createPeer>;

interface Pending extends Pick<McpCallOptions, "onProgress"> {
  resolve(result: JsonObject): void;
  reject(error: Error): void;
}

async function boundsFor(server: ConfiguredServer, options: McpClientOptions): Promise<Bounds | undefined> {
  const { confine, cwd, directories } = options;
  if (server.type !== "stdio" || !confine) return undefined;
  const bounds = await confine({ command: commandLine(server), cwd, workspace: { cwd, directories }, env: server.env });
  if (!("refused" in bounds)) return bounds;
  throw new AgentError("mcp_connect", `The MCP server ${server.name} was not started: ${bounds.refused}`);
}

function createPeer(
  server: ConfiguredServer,
  { cwd, env }: McpClientOptions,
  bounds: Bounds | undefined,
  onToolsChanged: () => void,
) {
  const pending = new Map<number, Pending>();
  const lifetime = new AbortController();
  let nextId = 1;
  let closed = false;
  const fail = (reason: string) => {
    closed = true;
    const error = new AgentError("mcp_closed", `The MCP server ${server.name} is gone: ${reason}`);
    for (const { reject } of pending.values()) reject(error);
    pending.clear();
    lifetime.abort(error);
  };
  const events: ChannelEvents = {
    onClose: fail,
    onMessage: (message) => {
      if (typeof message["method"] !== "string") settle(pending, message, server.name);
      else if (message["id"] !== undefined) {
        channel
          .send({ jsonrpc: "2.0", id: message["id"], ...answerTo(message["method"], cwd) }, lifetime.signal)
          .catch(() => {});
      } else if (message["method"] === "notifications/tools/list_changed") onToolsChanged();
      else if (message["method"] === "notifications/progress") reportProgress(pending, message["params"]);
    },
  };
  const channel: Channel =
    server.type === "stdio" ? openStdioChannel(server, { cwd, env, bounds }, events) : openHttpChannel(server, events);
  const notify = (method: string, params: JsonObject, signal: AbortSignal) =>
    channel.send({ jsonrpc: "2.0", method, params }, signal);

  async function request(method: string, params: JsonObject, { signal, onProgress }: McpCallOptions) {
    if (closed) throw new AgentError("mcp_closed", `The MCP server ${server.name} is gone.`);
    signal.throwIfAborted();
    const id = nextId++;
    const body = onProgress ? { ...params, _meta: { progressToken: id } } : params;
    const onAbort = () => {
      pending.get(id)?.reject(signal.reason);
      const params = { requestId: id, reason: "cancelled" };
      if (!closed) notify("notifications/cancelled", params, lifetime.signal).catch(() => {});
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await new Promise<JsonObject>((resolve, reject) => {
        pending.set(id, { resolve, reject, onProgress });
        channel.send({ jsonrpc: "2.0", id, method, params: body }, signal).catch(reject);
      });
    } finally {
      signal.removeEventListener("abort", onAbort);
      pending.delete(id);
    }
  }

  return {
    notify,
    request,
    get closed() {
      return closed;
    },
    /** Aborts when the connection has ended. */
    lifetime: lifetime.signal,
    close: async () => {
      fail("it was closed");
      await channel.close();
    },
  };
}

function settle(pending: ReadonlyMap<number, Pending>, message: JsonObject, name: string): void {
  const waiting = pending.get(message["id"] as number);
  if (!waiting) return;
  const { error, result } = message;
  if (isJsonObject(error))
    waiting.reject(new AgentError("mcp_call", `${name}: ${String(error["message"] ?? "error")}`));
  else if (isJsonObject(result)) waiting.resolve(result);
  else waiting.reject(new AgentError("mcp_call", `${name} sent an answer without a result.`));
}

function reportProgress(pending: ReadonlyMap<number, Pending>, params: unknown): void {
  if (!isJsonObject(params) || typeof params["message"] !== "string") return;
  pending.get(params["progressToken"] as number)?.onProgress?.(`${params["message"]}\n`);
}

function answerTo(method: string, cwd: string): JsonObject {
  if (method === "ping") return { result: {} };
  if (method === "roots/list") return { result: { roots: [{ uri: pathToFileURL(cwd).href, name: "workspace" }] } };
  return { error: { code: -32601, message: `Method not found: ${method}` } };
}

const HANDSHAKE = {
  protocolVersion: "2025-06-18",
  capabilities: { roots: {} },
  clientInfo: { name: "chimera", version: "0.1.0" },
};

async function listAll<T>(
  peer: Peer,
  kind: "tools" | "resources",
  /** The property that must be a non-empty text in every entry. */
  key: string,
  signal: AbortSignal,
): Promise<T[]> {
  const all: T[] = [];
  let cursor: unknown;
  for (let page = 0; page < MAX_PAGES && all.length < MAX_LISTED; page += 1) {
    const result = await peer.request(`${kind}/list`, cursor === undefined ? {} : { cursor }, { signal });
    const listed: unknown[] = Array.isArray(result[kind]) ? result[kind] : [];
    all.push(...(listed.filter((one) => isJsonObject(one) && asText(one[key]) !== "") as T[]));
    cursor = result["nextCursor"];
    if (typeof cursor !== "string") break;
  }
  return all.slice(0, MAX_LISTED);
}
