/** Requests that ask a connection for more than an answer: a WebSocket, a tunnel, or a protocol that is not spoken here. */
import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { refuseTunnel } from "./unreadable.js";
import { createUpgrade } from "./upgrade.js";

/** Answers the requests that `server` emits as `upgrade`, and has it answer tunnels and expectations. */
export function serveOtherProtocols(
  server: Server,
  fetch: Parameters<typeof createUpgrade>[0],
  unanswered: ReadonlySet<ServerResponse>,
) {
  const upgrade = createUpgrade(fetch);
  server.on("connect", refuseTunnel);
  // What a client expects beyond leave to send its body is nothing that this server does.
  server.on("checkExpectation", (incoming, outgoing) => server.emit("request", incoming, outgoing));
  return async (incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    // The requests before it on this connection are answered first.
    for (const outgoing of unanswered) if (outgoing.req.socket === socket) await once(outgoing, "close");
    if (socket.destroyed) return;
    if (!asksForWebSocket(incoming)) return askAgain(server, incoming, socket, head);
    await upgrade(incoming, socket, head);
  };
}

// --- internal ---

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
