/** TLS: HTTP/2 for those who offer it, where one connection carries any number of streams, and HTTP/1.1 for all others. */
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
  // Typed as the server of HTTP/1.1, which it also is.
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
      // Takes no new streams, and ends with the last of those it has.
      for (const session of sessions) if (!session.closed) session.close();
    },
    closeAllConnections() {
      for (const socket of sockets) socket.destroy();
    },
  });
}
