/** Requests that ask a connection for more than an answer: a WebSocket, a tunnel, or a protocol that is not spoken here. */
import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** What is loaded with the app. */
interface Loaded {
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): unknown;
  refuseTunnel(incoming: IncomingMessage, peer: Duplex | ServerResponse): void;
}

export function serveOtherProtocols(
  server: Server,
  options: {
    readonly isClosing: () => boolean;
    readonly unanswered: ReadonlySet<ServerResponse>;
    /** Called with a connection that carries no more requests. */
    readonly onTaken: (socket: Duplex) => void;
    readonly loaded: () => Promise<Loaded>;
  },
): void {
  const withLoaded = (peer: Duplex | ServerResponse, act: (loaded: Loaded) => unknown) => {
    options.loaded().then(act, () => peer.destroy());
  };
  server.on("upgrade", async (incoming, socket, head) => {
    socket.on("error", () => {});
    // The requests before it on this connection are answered first.
    for (const outgoing of options.unanswered) if (outgoing.req.socket === socket) await once(outgoing, "close");
    if (options.isClosing() || socket.destroyed) return void socket.destroy();
    if (!asksForWebSocket(incoming)) return askAgain(server, incoming, socket, head);
    options.onTaken(socket);
    withLoaded(socket, ({ upgrade }) => upgrade(incoming, socket, head));
  });
  server.on("connect", (incoming, peer: Duplex | ServerResponse) => {
    withLoaded(peer, ({ refuseTunnel }) => refuseTunnel(incoming, peer));
  });
  // What a client expects beyond leave to send its body is nothing that this server does.
  server.on("checkExpectation", (incoming, outgoing) => server.emit("request", incoming, outgoing));
}

// --- internal ---

function asksForWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}

/**
 * A server may pass over an Upgrade, and some clients ask for HTTP/2 with every request (Java's, `curl --http2`). Node has let go of the
 * connection by now, so the request is read once more, without what asks for the other protocol.
 */
function askAgain(server: Server, incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders, headers } = incoming;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = rawHeaders.slice(at, at + 2);
    if (!/^(connection|upgrade|http2-settings)$/i.test(name)) lines.push(`${name}: ${value}`);
  }
  const kept = headers.connection?.split(",").filter((one) => /^(close|keep-alive)$/i.test(one.trim())) ?? [];
  if (kept.length > 0) lines.push(`Connection: ${kept.join(",")}`);
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  // After what counts connections has heard of the upgrade.
  setImmediate(() => {
    if (!socket.destroyed) server.emit("encrypted" in socket ? "secureConnection" : "connection", socket);
  });
}
