/** Bounds a server's connections. At the bound, the connection that has waited longest without a whole request is closed. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

interface Connection {
  readonly peer: string | Socket;
  readonly socket: Socket;
  /** Answers that the peer does not have yet, and the socket itself when it speaks another protocol. */
  readonly busy: Set<{ readonly writableEnded: boolean }>;
}

/**
 * Refusing new connections instead would let anybody block the server with half-sent headers, or with answers that nobody reads: when no
 * connection waits for a request, one is closed whose peer has only to read. No request in progress is cut. The function returned keeps a
 * connection that speaks another protocol now.
 */
export function boundConnections(server: Server, limit: number): (socket: Duplex) => void {
  /** By the peer's address and port, which a TLS connection shares with the one below it; the longest waiting first. */
  const open = new Map<string | Socket, Connection>();

  server.on("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    const connection: Connection = { peer, socket, busy: new Set() };
    open.set(peer, connection);
    socket.once("close", () => {
      if (open.get(peer) === connection) open.delete(peer);
    });
    if (open.size > limit) cutLongestWaiting(connection);
  });
  server.on("request", ({ socket }: IncomingMessage, outgoing: ServerResponse) => {
    const peer = peerOf(socket);
    const connection = open.get(peer);
    if (!connection) return;
    connection.busy.add(outgoing);
    outgoing.once("close", () => {
      connection.busy.delete(outgoing);
      if (connection.busy.size > 0 || open.get(peer) !== connection) return;
      open.delete(peer);
      open.set(peer, connection);
    });
  });

  const cutLongestWaiting = (newcomer: Connection) => {
    const others = [...open.values()].filter((connection) => connection !== newcomer);
    const idle = others.find(({ busy }) => busy.size === 0);
    const unread = () => others.find(({ busy }) => [...busy].every(({ writableEnded }) => writableEnded));
    const { peer, socket } = idle ?? unread() ?? newcomer;
    open.delete(peer);
    socket.destroy();
  };
  return (socket) => void open.get(peerOf(socket as Socket))?.busy.add(socket);
}

// --- internal ---

/** One on the path of a Unix socket has no address. */
function peerOf(socket: Socket): string | Socket {
  const { remoteAddress, remotePort } = socket;
  return remotePort === undefined ? socket : `${remoteAddress} ${remotePort}`;
}
