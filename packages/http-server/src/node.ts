/** `@chimera/http-server/node`: an app on a Node server, with or without TLS, stopped gracefully. */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import type { Duplex } from "node:stream";
import { boundConnections } from "./connections.js";
import { EVERY_ANSWER } from "./guard/headers.js";
import { LIMITS } from "./limits.js";
import type { Early } from "./probes.js";
import { newRequestId } from "./request/request-id.js";

export { createEarly, type Early } from "./probes.js";

export interface Listening {
  readonly port: number;
  readonly server: Server;
  /** Resolves when the app answers; rejects when it could not be loaded. */
  readonly ready: Promise<void>;
  /** Stops accepting and ends idle connections; the rest have 5 s, and new requests on them get 503. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** A socket that is bound already, as a service manager hands it over, in place of host and port. */
  readonly fd?: number;
  /** PEM texts of a certificate chain and its key. TLS 1.2 is the least that is spoken. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Answers probes until the app is loaded. */
  readonly early?: Early;
}

interface Servable {
  fetch(request: Request, env: never): Response | Promise<Response>;
}

/** Binds the port at once and loads the app with the first request or a moment later: loading takes the thread. */
export async function listen(
  app: Servable | ((server: Server) => Promise<Servable>),
  options: ListenOptions,
): Promise<Listening> {
  let answer: RequestListener | undefined;
  let upgrade: ((incoming: IncomingMessage, socket: Duplex, head: Buffer) => void) | undefined;
  let closing = false;
  const load = async () => {
    const [loaded, { getRequestListener }, { createUpgrade }] = await Promise.all([
      typeof app === "function" ? app(server) : app,
      import("@hono/node-server"),
      import("./upgrade.js"),
    ]);
    answer = getRequestListener((request, env) => loaded.fetch(request, env as never), { errorHandler: refuse });
    upgrade = createUpgrade((request, env) => loaded.fetch(request, env as never));
  };
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const server = await createNodeServer(options.tls, (incoming, outgoing) => {
    if (closing) return turnAway(outgoing);
    if (answer) return answer(incoming, outgoing);
    if (options.early?.(incoming, outgoing)) return;
    begin();
    ready.then(
      () => answer?.(incoming, outgoing),
      () => outgoing.destroy(),
    );
  });
  const upgraded = new Set<Duplex>();
  server.on("upgrade", (incoming, socket, head) => {
    socket.on("error", () => {});
    if (closing) return void socket.destroy();
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
    begin();
    ready.then(
      () => upgrade?.(incoming, socket, head),
      () => socket.destroy(),
    );
  });
  boundConnections(server, LIMITS.connections);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    const where = options.fd === undefined ? { port: options.port, host: options.host } : { fd: options.fd };
    server.listen(where, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const bound = server.address();
  const grace = setTimeout(begin, LIMITS.probesFirstMs);
  const ready = begun.then(load);
  // Whoever waits for it sees the failure; nobody else must be brought down by it.
  ready.catch(() => {});
  return {
    server,
    ready,
    port: typeof bound === "object" && bound ? bound.port : options.port,
    close: () =>
      new Promise((resolve) => {
        closing = true;
        clearTimeout(grace);
        const cut = setTimeout(() => {
          server.closeAllConnections();
          for (const socket of upgraded) socket.destroy();
        }, LIMITS.stopMs);
        const sweep = setInterval(() => server.closeIdleConnections(), 50);
        server.close(() => {
          clearTimeout(cut);
          clearInterval(sweep);
          resolve();
        });
      }),
  };
}

// --- internal ---

async function createNodeServer(tls: ListenOptions["tls"], listener: RequestListener): Promise<Server> {
  const options: ServerOptions = {
    headersTimeout: LIMITS.headersTimeoutMs,
    requestTimeout: LIMITS.requestTimeoutMs,
    keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
    connectionsCheckingInterval: 2000,
    highWaterMark: LIMITS.socketBytes,
  };
  if (!tls) return createServer(options, listener);
  const { createServer: createTlsServer } = await import("node:https");
  return createTlsServer(
    { ...options, ...tls, minVersion: "TLSv1.2", handshakeTimeout: LIMITS.headersTimeoutMs },
    listener,
  );
}

/** To be asked again of whoever takes over: nothing has been begun for it here. */
function turnAway(outgoing: ServerResponse): void {
  outgoing.writeHead(503, {
    "Content-Type": "application/json",
    "Retry-After": LIMITS.retryAfterSeconds,
    Connection: "close",
    ...EVERY_ANSWER,
  });
  const message = "the server is on its way down";
  outgoing.end(JSON.stringify({ error: "shutting_down", message, request_id: newRequestId() }));
}

/** A request whose target or Host makes no URL never reaches the app. */
function refuse(error: unknown): Response {
  const aboutHost = error instanceof Error && /host/i.test(error.message);
  const body = aboutHost ? { error: "bad_host" } : { error: "bad_request" };
  return Response.json(
    { ...body, request_id: newRequestId() },
    { status: aboutHost ? 403 : 400, headers: EVERY_ANSWER },
  );
}
