/** Bounds a server's connections. At the bound, the connection that has waited longest without a whole request is closed. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

interface Connection {
  readonly socket: Socket;
  /** Requests that are being answered. */
  requests: number;
}

/**
 * Refusing new connections instead would let anybody block the server with half-sent headers. No request in progress is cut. The function
 * returned keeps a connection that speaks another protocol now.
 */
export function boundConnections(server: Server, limit: number): (socket: Duplex) => void {
  /** By the peer's address and port, which a TLS connection shares with the one below it; the longest waiting first. */
  const open = new Map<string | Socket, Connection>();

  server.on("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    open.set(peer, { socket, requests: 0 });
    socket.once("close", () => {
      if (open.get(peer)?.socket === socket) open.delete(peer);
    });
    if (open.size > limit) cutLongestWaiting();
  });
  server.on("request", ({ socket }: IncomingMessage, outgoing: ServerResponse) => {
    const peer = peerOf(socket);
    const connection = open.get(peer);
    if (!connection) return;
    connection.requests++;
    outgoing.once("close", () => {
      if (--connection.requests > 0 || open.get(peer) !== connection) return;
      open.delete(peer);
      open.set(peer, connection);
    });
  });

  const cutLongestWaiting = () => {
    for (const [peer, { socket, requests }] of open) {
      if (requests > 0) continue;
      open.delete(peer);
      socket.destroy();
      return;
    }
  };
  return (socket) => {
    const connection = open.get(peerOf(socket as Socket));
    if (connection) connection.requests++;
  };
}

// --- internal ---

/** One on the path of a Unix socket has no address. */
function peerOf(socket: Socket): string | Socket {
  const { remoteAddress, remotePort } = socket;
  return remotePort === undefined ? socket : `${remoteAddress} ${remotePort}`;
}
