/** Limits a server's connections. At the limit, a new connection closes the one that has waited longest without a whole request. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

interface Connection {
  readonly peer: string | Socket;
  readonly socket: Socket;
  /** The answers that the peer has not received, and the socket itself if it speaks another protocol. */
  readonly busy: Set<{ readonly writableEnded: boolean }>;
}

/**
 * If all connections are busy, it closes one whose answers are complete and which the peer only has to read. It never closes a request in
 * progress. Refusing new connections instead would let anybody block the server with half-sent headers or with answers that they do not
 * read. The returned function marks a connection as busy for good, because it speaks another protocol from now on.
 */
export function boundConnections(server: Server, limit: number): (socket: Duplex) => void {
  /** By the peer's address and port, which a TLS connection shares with its TCP connection. The longest waiting is first. */
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

/** The key of a connection. A connection of a Unix socket has no address, so it is its own key. */
function peerOf(socket: Socket): string | Socket {
  const { remoteAddress, remotePort } = socket;
  return remotePort === undefined ? socket : `${remoteAddress} ${remotePort}`;
}
