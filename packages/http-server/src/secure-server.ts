/** A TLS server: HTTP/2 for clients that offer it, so that one connection carries many streams, and HTTP/1.1 for all others. */
import type { RequestListener, Server, ServerOptions } from "node:http";
import { createSecureServer, type Http2Session } from "node:http2";
import type { Socket } from "node:net";
import { LIMITS } from "./limits.js";

export function createSecure(
  options: ServerOptions & { readonly cert: string; readonly key: string },
  listener: RequestListener,
): Server {
  const secure = createSecureServer({
    ...(options as object),
    allowHTTP1: true,
    minVersion: "TLSv1.2",
    handshakeTimeout: LIMITS.headersTimeoutMs,
    settings: { maxConcurrentStreams: LIMITS.streamsOfConnection },
  });
  // With `allowHTTP1` it is also a server of HTTP/1.1, and callers use it as one.
  const server = secure as unknown as Server;
  const { headersTimeout, requestTimeout, keepAliveTimeout } = options;
  Object.assign(server, { headersTimeout, requestTimeout, keepAliveTimeout });
  server.on("request", listener);
  const sockets = new Set<Socket>();
  const sessions = new Set<Http2Session>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  secure.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  const closeIdle = server.closeIdleConnections.bind(server);
  return Object.assign(server, {
    closeIdleConnections() {
      closeIdle();
      // The session takes no new streams and ends after its last one.
      for (const session of sessions) if (!session.closed) session.close();
    },
    closeAllConnections() {
      for (const socket of sockets) socket.destroy();
    },
  });
}
