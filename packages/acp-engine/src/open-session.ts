/** Opens a session of an engine, the remembered one if the engine can restore it, and changes its options and closes it. */
import type { McpServer as AcpMcpServer, AgentCapabilities } from "@chimera/acp-schema";
import type { McpServer } from "@chimera/acp-schema/agent";
import type { AgentEvent } from "@chimera/acp-schema/events";
import { isRpcError } from "@chimera/ndjson-rpc";
import { within } from "./connect-agent.js";
import { EngineError } from "./errors.js";
import { createMapper, type Mapper } from "./map-update.js";
import type { OpenAnswer } from "./options.js";
import type { Lease } from "./pool.js";
import { orEnded, type SessionListener } from "./program.js";

/** A session that the engine has open. */
export interface OpenSession extends Lease {
  /** The engine's id of it. */
  readonly id: string;
  readonly mapper: Mapper;
  /** Whether the engine repeats the session's past, as it does while it loads one. */
  isReplaying: boolean;
}

export interface OpenRequest {
  readonly engine: string;
  /** The id of the engine's login method to use. Without one, opening fails when the engine asks for a login. */
  readonly auth: string | undefined;
  readonly clock: () => number;
  readonly lease: Lease;
  readonly cwd: string;
  readonly mcpServers: readonly McpServer[];
  /** The engine's id of the session to restore; null for a new session. */
  readonly remembered: string | null;
  /** The listener for what the engine says about the session, from the moment it may say anything. */
  listenerOf(session: OpenSession): SessionListener;
}

export interface Opened {
  readonly session: OpenSession;
  readonly events: AgentEvent[];
  /** Null for a restored session; for a new one, why each way of restoring failed. */
  readonly failures: readonly string[] | null;
}

export async function openSession(request: OpenRequest): Promise<Opened> {
  const { lease, cwd, clock, remembered, listenerOf } = request;
  const { program } = lease;
  const { agent } = program;
  const { agentCapabilities: can } = agent.about;
  const base = { cwd, mcpServers: serversFor(request.mcpServers, can) };
  const mapper = createMapper(clock);
  const listen = (id: string, isReplaying: boolean): OpenSession => {
    const session = { ...lease, id, mapper, isReplaying };
    program.listen(id, listenerOf(session));
    return session;
  };
  const failures: string[] = [];
  const ways = [
    ["session/resume", can.sessionCapabilities.resume != null],
    ["session/load", can.loadSession],
  ] as const;
  for (const [method, isOffered] of ways) {
    if (!isOffered || remembered === null) continue;
    try {
      const session = listen(remembered, method === "session/load");
      const asked = { ...base, sessionId: remembered };
      const answer = await withLogin(request, method, () => agent.request(method, asked));
      session.isReplaying = false;
      return { session, events: mapper.options.opened(answer as OpenAnswer), failures: null };
    } catch (error) {
      program.forget(remembered);
      if (program.ended.aborted || (error as EngineError).code === "login_needed") throw error;
      failures.push(`${method}: ${(error as Error).message}`);
    }
  }
  const answer = await withLogin(request, "session/new", () => agent.request("session/new", base));
  const session = listen(answer.sessionId, false);
  return { session, events: mapper.options.opened(answer), failures };
}

/** Sets one of the engine's own options, unless it has the value already. Returns the events of the change. */
export async function setOption(session: OpenSession, id: string, value: string | boolean): Promise<AgentEvent[]> {
  const { options } = session.mapper;
  const option = options.find(id);
  if (!option || option.value === value) return [];
  const { agent, ended } = session.program;
  const setter = options.setterOf(id);
  const method = setter ?? "session/set_config_option";
  const type = typeof value === "boolean" ? { type: "boolean" } : {};
  const chosen = setter
    ? { [setter === "session/set_mode" ? "modeId" : "modelId"]: value }
    : { configId: id, ...type, value };
  const asked = agent.request(method as never, { sessionId: session.id, ...chosen } as never);
  await orEnded(within(asked, method), ended);
  return options.chose(id, value);
}

/** Closes the session at the engine, if the engine can do that, and gives the program back. */
export async function closeSession(session: OpenSession): Promise<void> {
  const { agent, ended } = session.program;
  if (agent.about.agentCapabilities.sessionCapabilities.close != null && !ended.aborted)
    await within(agent.request("session/close", { sessionId: session.id }), "session/close", 1000).catch(() => {});
  leaveSession(session);
}

/** Gives the program back, and leaves the engine's session as it is. */
export function leaveSession({ program, id, release }: OpenSession): void {
  program.forget(id);
  release();
}

// --- internal ---

/** The error code with which an agent asks for a login. */
const LOGIN_NEEDED = -32000;

/** Calls a method that opens a session. If the engine asks for a login, logs in and calls it once more. */
async function withLogin<T>(
  { engine, auth, lease: { program } }: OpenRequest,
  method: string,
  call: () => Promise<T>,
): Promise<T> {
  const attempt = () => orEnded(within(call(), method), program.ended);
  try {
    return await attempt();
  } catch (cause) {
    if (!isRpcError(cause) || cause.code !== LOGIN_NEEDED) throw cause;
    const ways = program.agent.about.authMethods.map(({ id }) => id);
    if (auth === undefined || !ways.includes(auth)) {
      const offered = ways.join(", ") || "and offers no way to log in";
      throw new EngineError("login_needed", `${engine} needs a login (${offered})`, { cause });
    }
    await orEnded(within(program.agent.request("authenticate", { methodId: auth }), "authenticate"), program.ended);
    return attempt();
  }
}

/** The MCP servers that the engine can connect to. */
function serversFor(servers: readonly McpServer[], { mcpCapabilities: can }: AgentCapabilities): AcpMcpServer[] {
  const pairs = (record: Readonly<Record<string, string>>) =>
    Object.entries(record).map(([name, value]) => ({ name, value }));
  return servers.flatMap((server): AcpMcpServer[] => {
    if (server.type === "stdio") {
      const { name, command, args, env } = server;
      return [{ name, command, args: [...args], env: pairs(env) } as AcpMcpServer];
    }
    const { type, name, url, headers } = server;
    return can[type] ? [{ type, name, url, headers: pairs(headers) } as AcpMcpServer] : [];
  });
}
