/** `/acp`: the Agent Client Protocol over HTTP, with event streams or a WebSocket, for every dialect of the program. */
import type { IncomingMessage } from "node:http";
import { frameOf } from "@chimera/ndjson-rpc";
import type { Context } from "hono";
import { type AcpConnections, createAcpConnections } from "../acp/connections.js";
import { sessionOf } from "../acp/streams-channel.js";
import { keyOf } from "../creations.js";
import type { AppEnv } from "../deps.js";
import { HttpError } from "../http-error.js";
import { LIMITS } from "../limits.js";
import { readText } from "../request/body.js";
import type { Handlers, RouteDeps } from "./route.js";

/** The header that names the connection in requests and answers. */
const CONNECTION = "Acp-Connection-Id";
const SESSION = "Acp-Session-Id";

export function acpRoutes({ deps, streams, onClose }: RouteDeps) {
  const connections = deps.acp && createAcpConnections(deps.acp);
  if (connections) onClose(connections.close);
  const require = (): AcpConnections => {
    if (connections) return connections;
    throw new HttpError(404, "not_found", "this server does not speak ACP");
  };
  const connectionOf = (c: Context<AppEnv>) => {
    const id = c.req.header(CONNECTION);
    if (id === undefined) throw new HttpError(400, "connection_missing", `${CONNECTION} names the connection`);
    return require().find(id, c.get("caller"));
  };

  return {
    "POST /acp": async (c) => {
      const text = await readText(c, LIMITS.acpMessageBytes);
      const message = frameOf(text, LIMITS.bodyDepth);
      if (message.kind === "invalid") {
        const { code, message: why } = message;
        return c.json(
          { jsonrpc: "2.0", id: null, error: { code, message: why, data: { request_id: c.get("requestId") } } },
          400,
        );
      }
      if (message.kind === "request" && message.method === "initialize") {
        if (c.req.header(CONNECTION) !== undefined)
          throw new HttpError(400, "already_initialized", "initialize begins a connection, so it may not name one");
        const { id, channel } = require().create(c.get("caller"));
        const answer = channel.next();
        channel.receive(text, message);
        c.header(CONNECTION, id);
        return c.body(await answer, 200, { "Content-Type": "application/json" });
      }
      const connection = connectionOf(c);
      requireSession(
        c,
        message.kind === "response" ? connection.channel.sessionOfQuestion(message.id) : sessionOf(message),
      );
      const key = keyOf(c);
      const id = message.kind === "request" ? message.idText : "";
      if (connection.isNew(key, id)) connection.channel.receive(keyed(text, message, key), message);
      return c.body(null, 202);
    },
    "GET /acp": async (c) => {
      const { upgrade, incoming } = c.env ?? {};
      if (upgrade && incoming) {
        const enter = () => streams.enter(deps.sessions, c.get("caller"));
        return acceptSocket(c, incoming, upgrade, require(), enter);
      }
      if (!/\btext\/event-stream\b/i.test(c.req.header("accept") ?? ""))
        throw new HttpError(406, "not_acceptable", "this is an event stream: ask for text/event-stream");
      const { channel } = connectionOf(c);
      return streams.begin(c, deps.sessions, (sink) =>
        channel.open(c.req.header(SESSION) ?? null, sink, c.req.header("last-event-id")),
      );
    },
    "DELETE /acp": async (c) => {
      await connectionOf(c).close();
      return c.body(null, 202);
    },
  } satisfies Handlers;
}

// --- internal ---

/** Throws `session_mismatch` unless the header names the session of the message. A proxy reads the session there. */
function requireSession(c: Context<AppEnv>, named: string | null | undefined): void {
  const header = c.req.header(SESSION);
  if (typeof named !== "string" || header === named) return;
  throw new HttpError(400, "session_mismatch", `${SESSION} must name the session of the message`);
}

/** Puts the `Idempotency-Key` of a request into its message, so that a prompt runs once even if it comes over two connections. */
function keyed(text: string, message: ReturnType<typeof frameOf>, key: string | undefined): string {
  if (key === undefined || message.kind !== "request" || sessionOf(message) === null) return text;
  if (typeof message.id === "number" && !Number.isSafeInteger(message.id)) return text;
  const { id, method } = message;
  const params = message.params as { readonly _meta?: object };
  return JSON.stringify({
    jsonrpc: "2.0",
    id,
    method,
    params: { ...params, _meta: { "chimera.dev/requestId": key, ...params._meta } },
  });
}

type Upgrade = NonNullable<AppEnv["Bindings"]["upgrade"]>;

/** Accepts a WebSocket. A browser sends its token among the offered protocols and expects one of the others to be chosen. */
async function acceptSocket(
  c: Context<AppEnv>,
  incoming: IncomingMessage,
  { socket, head, accept }: Upgrade,
  connections: AcpConnections,
  enter: () => Promise<() => void>,
): Promise<Response> {
  const [{ WebSocketServer }, { socketChannel }] = await Promise.all([
    import("ws"),
    import("../acp/socket-channel.js"),
  ]);
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: LIMITS.acpSocketBytes,
    perMessageDeflate: false,
    autoPong: false,
    handleProtocols: (offered) => [...offered].find((one) => !one.startsWith("bearer.")) ?? false,
  });
  const caller = c.get("caller");
  const leave = await enter();
  socket.once("close", leave);
  const id = connections.admit(caller);
  let refused = "";
  server.on("wsClientError", ({ message }) => {
    refused = message;
  });
  server.on("headers", (headers) => headers.push(`${CONNECTION}: ${id}`));
  server.handleUpgrade(incoming, socket, head, (peer) => {
    accept();
    connections.begin(caller, socketChannel(peer));
  });
  if (!refused) return c.body(null, 200);
  if (incoming.headers["sec-websocket-version"] !== "13") c.header("Sec-WebSocket-Version", "13, 8");
  throw new HttpError(400, "bad_upgrade", refused);
}
