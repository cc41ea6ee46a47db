/**
 * Connects a Node server with an app, also for requests that ask for a WebSocket, a tunnel or another protocol. Loaded with the app, after
 * the port is bound.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { getRequestListener, RequestError } from "@hono/node-server";
import { LIMITS } from "./limits.js";
import { headersFor, refuse } from "./outside-app.js";
import { answerMalformed, refusalOf, refuseTunnel } from "./unreadable.js";
import { createUpgrade } from "./upgrade.js";

export interface Servable {
  fetch(request: Request, env: never): Response | Promise<Response>;
}

export interface ServeOptions {
  readonly isPrivate: boolean;
  readonly unanswered: ReadonlySet<ServerResponse>;
  /** Called with a connection that becomes a WebSocket. */
  readonly keep: (socket: Duplex) => void;
}

export function serveApp(server: Server, app: Servable, { isPrivate, unanswered, keep }: ServeOptions) {
  const fetch = (request: Request, env: object) =>
    app.fetch(request, (isPrivate ? { ...env, isPrivate } : env) as never);
  const serve = getRequestListener(fetch, {
    // A balancer that speaks HTTP/1.0 names no host. It gets this name, which the guard treats like any other unknown host.
    hostname: "unnamed.invalid",
    errorHandler(error) {
      // `answer` below refuses it: it has the request.
      if (error instanceof RequestError) throw error;
      return Response.json({ error: "internal_error" }, { status: 500, headers: headersFor() });
    },
  });
  const answer: RequestListener = (incoming, outgoing) =>
    serve(incoming, outgoing).catch((error: Error) => refuse(outgoing, refusalOf(incoming, error.message)));
  const openSocket = createUpgrade(fetch, keep);
  // Ignores every `Expect` header but `100-continue`, as if it had not been sent.
  server.on("checkExpectation", (incoming, outgoing) => server.emit("request", incoming, outgoing));
  return {
    answer,
    answerMalformed,
    async upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
      await comesNext(socket, unanswered);
      if (socket.destroyed) return;
      if (!asksForWebSocket(incoming)) return askAgain(server, incoming, socket, head);
      await openSocket(incoming, socket, head);
    },
    /** @param peer the connection, or over HTTP/2 the response */
    async connect(incoming: IncomingMessage, peer: Duplex | ServerResponse): Promise<void> {
      if (!("setHeader" in peer)) await comesNext(peer, unanswered);
      if (!peer.destroyed) refuseTunnel(incoming, peer);
    },
  };
}

// --- internal ---

/**
 * Waits until the earlier requests of this connection are answered, or the peer has gone. Reads the connection meanwhile, because otherwise
 * nobody would notice that the peer goes; puts the bytes back at the end.
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
 * Serves a request as if it had not asked for another protocol. Some clients ask for HTTP/2 with every request (Java's, `curl --http2`), and
 * a server may ignore that. Node no longer reads this connection, so the request is put back without those headers, as the last one.
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
