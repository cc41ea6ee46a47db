/** One WebSocket connection to the remote: opens it, serves it, watches it, and closes it. */
import type { Agent, IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type LineChannel, streamChannel } from "@chimera/ndjson-rpc";
import type { WebSocket } from "ws";
import { BridgeError, networkError, statusError } from "./errors.js";
import type { BridgedSession } from "./session.js";

const HANDSHAKE_MS = 15_000;
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** How long a clean close may take. Then the socket is cut. */
const CLOSE_MS = 2_000;

/** The input of `serve`: the channel of a connection, the origin for its records, and the only session it may reach. */
export interface BridgePeer {
  readonly channel: LineChannel;
  readonly origin: string;
  readonly remote: BridgedSession;
}

/** A served connection, as `serveAcp` of `@chimera/acp-server` returns it. */
export interface BridgeServer {
  readonly closed: Promise<unknown>;
  close(): Promise<void>;
}

export type Attachment = Awaited<ReturnType<typeof attach>>;

export interface AttachOptions {
  readonly url: URL;
  readonly token: string;
  readonly agent: Agent | undefined;
  readonly origin: string;
  readonly session: BridgedSession;
  readonly serve: (peer: BridgePeer) => BridgeServer;
}

export async function attach(options: AttachOptions, signal: AbortSignal) {
  const { socket, stream } = await connect(options, signal);
  const server = serveOn(stream, options);

  let heard = true;
  const hear = () => {
    heard = true;
  };
  socket.on("pong", hear).on("message", hear);
  const gone = new Promise<void>((resolve) => {
    if (socket.readyState === socket.CLOSED) resolve();
    else socket.once("close", () => resolve());
  });
  const hangUp = () => socket.close();
  server.closed.then(hangUp, hangUp);

  return {
    /** Resolves when the socket has closed and its server has stopped. */
    ended: gone.then(() => server.close()),
    /** Whether the remote has sent anything since the last call. Also sends the next ping. */
    stillThere() {
      if (!heard) return false;
      heard = false;
      if (socket.readyState === socket.OPEN) socket.ping();
      return true;
    },
    /** Sends the queued frames, then closes. */
    async close() {
      const limit = setTimeout(() => socket.terminate(), CLOSE_MS);
      await server.close();
      await gone;
      clearTimeout(limit);
    },
    /** Cuts the socket at once. */
    cut: () => socket.terminate(),
  };
}

// --- internal ---

function serveOn(stream: Duplex, { serve, origin, session }: AttachOptions): BridgeServer {
  try {
    return serve({ channel: streamChannel(stream, stream), origin, remote: session });
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

async function connect(
  { url, token, agent }: AttachOptions,
  signal: AbortSignal,
): Promise<{ socket: WebSocket; stream: Duplex }> {
  const { createWebSocketStream, WebSocket } = await import("ws");
  const what = "opening the WebSocket";
  const socket = new WebSocket(url, {
    headers: { authorization: `Bearer ${token}` },
    handshakeTimeout: HANDSHAKE_MS,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    ...(agent && { agent }),
  });
  // Made before the socket opens, because the remote may send at once. Strings are not decoded, so that a write is one message.
  const stream = createWebSocketStream(socket, { decodeStrings: false });
  stream.on("error", () => {});
  const abandon = () => socket.terminate();
  signal.addEventListener("abort", abandon);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("unexpected-response", (_, response: IncomingMessage) => {
        const status = response.statusCode ?? 0;
        reject(statusError(status, what) ?? new BridgeError("not_a_receiver", `${what} was answered ${status}`));
        socket.terminate();
      });
      // This listener stays after the handshake, so that a later error is not thrown. The close event reports it.
      socket.on("error", (error) => reject(networkError(error, what)));
    });
  } finally {
    signal.removeEventListener("abort", abandon);
  }
  return { socket, stream };
}
