/** A receiver on a real socket: implements the contract, speaks ACP to every program that attaches, and keeps its cursor when killed. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { type Connection, createConnection } from "@chimera/ndjson-rpc";
import { createWebSocketStream, WebSocketServer } from "ws";
import { until } from "./until.js";

export interface Update {
  readonly eventId: number;
  readonly origin?: string;
  readonly update: { readonly sessionUpdate: string; readonly content?: { readonly text: string } };
}

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly token: string | undefined;
  readonly body: Record<string, unknown> | null;
}

export interface ReceiverOptions {
  readonly token?: string;
  readonly tls?: ServerOptions;
  /** Replaces the usual answers; undefined leaves a call to the receiver. */
  readonly answer?: (call: Call) => { status: number; body?: unknown } | undefined;
  readonly wsUrl?: (port: number, id: string) => string;
  /** Answers a permission request; a promise that never settles leaves it unanswered. */
  readonly onPermission?: (params: Record<string, unknown>, signal: AbortSignal) => Promise<object>;
  /** If false, the receiver sends nothing to attached programs. */
  readonly speak?: boolean;
}

export interface Receiver {
  readonly url: string;
  readonly calls: readonly Call[];
  readonly updates: readonly Update[];
  readonly cursor: number;
  /** The connection to the program, after the replay. */
  attached(): Promise<Connection>;
  start(): Promise<void>;
  /** Stops reading from WebSockets, or continues. */
  stall(on: boolean): void;
  /** Cuts all sockets and stops listening. */
  kill(): Promise<void>;
}

export const TOKEN = "t0ken-for-tests";

export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const { token = TOKEN } = options;
  const scheme = options.tls ? "https" : "http";
  const calls: Call[] = [];
  const updates: Update[] = [];
  const sockets = new Set<Socket>();
  const attachedSockets = new Set<Socket>();
  let cursor = 0;
  let port = 0;
  let server: ReturnType<typeof createServer>;
  let sessionId = "";
  let attached: Connection | null = null;

  const note = (params: { update: Update["update"]; _meta?: Record<string, unknown> }) => {
    const eventId = Number(params._meta?.["chimera.dev/eventId"] ?? 0);
    const origin = params._meta?.["chimera.dev/origin"];
    updates.push({ eventId, update: params.update, ...(typeof origin === "string" && { origin }) });
    cursor = Math.max(cursor, eventId);
  };

  const speak = async (stream: ReturnType<typeof createWebSocketStream>) => {
    stream.on("error", () => {});
    const connection = createConnection({
      input: stream,
      output: stream,
      methods: {
        "session/update": { handle: (params) => note(params as never) },
        "session/request_permission": {
          handle: (params, { signal }) =>
            options.onPermission?.(params as never, signal) ?? new Promise<object>(() => {}),
        },
      },
      onClose: () => {
        attached = null;
      },
    });
    try {
      await connection.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
      await connection.request("_chimera.dev/session/replay", { sessionId, sinceEventId: cursor });
      attached = connection;
    } catch {
      // It was killed meanwhile; the next attachment starts over.
    }
  };

  const reply = (response: ServerResponse, status: number, body?: unknown) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body ?? {}));
  };

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const { method = "", url: path = "", headers } = request;
    const call = { method, path, token: headers.authorization, body: text ? JSON.parse(text) : null };
    calls.push(call);
    const special = options.answer?.(call);
    if (special) return reply(response, special.status, special.body);
    if (call.token !== `Bearer ${token}`) return reply(response, 401);
    if (path !== "/api/sessions") return reply(response, 200);
    sessionId = String(call.body?.["session_id"]);
    const ws_url = options.wsUrl?.(port, sessionId) ?? `/ws/${sessionId}`;
    reply(response, 201, { ui_url: `${scheme}://127.0.0.1:${port}/s/${sessionId}`, ws_url });
  };

  const start = async () => {
    server = options.tls ? createTlsServer(options.tls, handle) : createServer(handle);
    const wss = new WebSocketServer({ noServer: true });
    server.on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      socket.on("error", () => {});
    });
    server.on("upgrade", (request, socket: Socket, head) => {
      attachedSockets.add(socket);
      socket.on("close", () => attachedSockets.delete(socket));
      if (request.headers.authorization !== `Bearer ${token}`) return socket.end("HTTP/1.1 401 No\r\n\r\n");
      wss.handleUpgrade(request, socket, head, (ws) => {
        ws.on("error", () => {});
        if (options.speak !== false) void speak(createWebSocketStream(ws, { decodeStrings: false }));
      });
    });
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    port = (server.address() as AddressInfo).port;
  };

  await start();
  return {
    url: `${scheme}://127.0.0.1:${port}`,
    calls,
    updates,
    get cursor() {
      return cursor;
    },
    async attached() {
      await until(() => attached !== null);
      return attached!;
    },
    start,
    stall(on) {
      for (const socket of attachedSockets) on ? socket.pause() : socket.resume();
    },
    async kill() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
