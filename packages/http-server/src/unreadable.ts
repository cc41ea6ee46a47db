/** Answers requests that never reach the app: they have no valid URL, ask for a tunnel, or break the rules of HTTP. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { LIMITS } from "./limits.js";
import { bodyOf, headersFor, type Refusal, refuse } from "./outside-app.js";

/** The refusal of a request whose Host or target is not valid in a URL. @param why the message of the error */
export function refusalOf(incoming: IncomingMessage & { readonly authority?: string }, why = ""): Refusal {
  const host = incoming.headers.host ?? incoming.authority ?? "";
  return !URL.canParse(`http://${host}`) || /\bhost\b/i.test(why)
    ? { status: 403, error: "bad_host", message: "the Host header names no host" }
    : { status: 400, error: "bad_request", message: "no URL can be made of the target" };
}

/** Answers on a connection for which Node made no response, and closes it. */
export function refuseOn(socket: Duplex, refusal: Refusal, request?: IncomingMessage): void {
  const headers = headersFor(request);
  writeOn(socket, refusal.status, Object.entries(headers), Buffer.from(bodyOf(refusal, headers)));
}

export function writeOn(
  socket: Duplex,
  status: number,
  headers: readonly (readonly [name: string, value: string])[],
  body: Buffer,
): void {
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    `content-length: ${body.length}`,
    "connection: close",
  ];
  socket.end(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), body]));
  // Closing a connection with unread bytes resets it, and the peer would lose the answer. So read the rest, and give the peer a moment.
  socket.resume();
  socket.once("finish", () => setTimeout(() => socket.destroy(), LIMITS.socketFarewellMs).unref());
}

/** Refuses a tunnel. @param peer the connection, which Node no longer reads, or over HTTP/2 the response */
export function refuseTunnel(incoming: IncomingMessage, peer: Duplex | ServerResponse): void {
  const refusal: Refusal = { status: 405, error: "method_not_allowed", message: "this server is not a proxy" };
  if ("setHeader" in peer) refuse(peer, refusal);
  else refuseOn(peer, refusal, incoming);
}

/** Answers input that Node could not read as a request. If the connection only broke off, closes it. */
export function answerMalformed({ code = "" }: NodeJS.ErrnoException, socket: Duplex): void {
  const refusal = Object.hasOwn(MALFORMED, code) ? MALFORMED[code] : code.startsWith("HPE_") ? NO_HTTP : undefined;
  if (refusal === undefined || !socket.writable) socket.destroy();
  else refuseOn(socket, refusal);
}

// --- internal ---

const NO_HTTP: Refusal = { status: 400, error: "bad_request", message: "this is not a request of HTTP" };

/** By the code of Node's error. */
const MALFORMED: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: { status: 431, error: "headers_too_large", message: "the headers are too large" },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: 413,
    error: "body_too_large",
    message: "the chunk extensions are too large",
  },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, error: "request_timeout", message: "the request did not come in time" },
};
