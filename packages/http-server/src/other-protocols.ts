/** Requests that ask a connection for more than an answer: a WebSocket, a tunnel, or a protocol that is not spoken here. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { LIMITS } from "./limits.js";
import { refuseTunnel } from "./unreadable.js";
import type { createUpgrade } from "./upgrade.js";

/** Answers the requests that `server` emits as `upgrade` and as `connect`, and has it answer expectations. */
export function serveOtherProtocols(
  server: Server,
  openSocket: ReturnType<typeof createUpgrade>,
  unanswered: ReadonlySet<ServerResponse>,
) {
  // What a client expects beyond leave to send its body is nothing that this server does.
  server.on("checkExpectation", (incoming, outgoing) => server.emit("request", incoming, outgoing));
  return {
    async upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
      await comesNext(socket, unanswered);
      if (socket.destroyed) return;
      if (!asksForWebSocket(incoming)) return askAgain(server, incoming, socket, head);
      await openSocket(incoming, socket, head);
    },
    /** @param peer the connection, or with HTTP/2 the response */
    async connect(incoming: IncomingMessage, peer: Duplex | ServerResponse): Promise<void> {
      if (!("setHeader" in peer)) await comesNext(peer, unanswered);
      if (!peer.destroyed) refuseTunnel(incoming, peer);
    },
  };
}

// --- internal ---

/**
 * Waits until the requests before it on this connection are answered, or the peer has gone. Nobody else reads the connection meanwhile, so a
 * peer that goes would not be noticed.
 */
async function comesNext(socket: Duplex, unanswered: ReadonlySet<ServerResponse>): Promise<void> {
  const before = [...unanswered].filter((outgoing) => outgoing.req.socket === socket);
  if (before.length === 0) return;
  const arrived: Buffer[] = [];
  let bytes = 0;
  const read = () => {
    while (bytes < LIMITS.socketBytes) {
      const chunk: Buffer | null = socket.read();
      if (!chunk) return;
      bytes += chunk.length;
      arrived.push(chunk);
    }
  };
  const cut = () => void socket.destroy();
  socket.on("readable", read).on("end", cut);
  await Promise.all(before.map((outgoing) => new Promise((resolve) => outgoing.once("close", resolve))));
  socket.off("readable", read).off("end", cut);
  if (!socket.destroyed) socket.unshift(Buffer.concat(arrived));
}

function asksForWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}

/**
 * A server may pass over an Upgrade, and some clients ask for HTTP/2 with every request (Java's, `curl --http2`). Node has let go of the
 * connection by now, so the request is read once more, as the last one, without what asks for the other protocol.
 */
function askAgain(server: Server, incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = incoming;
  const lines = [`${method} ${url} HTTP/${httpVersion}`, "Connection: close"];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = rawHeaders.slice(at, at + 2);
    if (!/^(connection|upgrade|http2-settings)$/i.test(name)) lines.push(`${name}: ${value}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  server.emit("encrypted" in socket ? "secureConnection" : "connection", socket);
}
