/** `@chimera/http-server/node`: serves an app with a Node server, with or without TLS, and stops it gracefully. */
import { createServer, type RequestListener, type Server, type ServerOptions, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { withResolvers } from "@chimera/acp-schema/promises";
import { boundConnections } from "./connections.js";
import { LIMITS } from "./limits.js";
import { refuse } from "./outside-app.js";
import type { Early } from "./probes.js";
import type { Servable } from "./serve-app.js";

export { createEarly, type Early } from "./probes.js";

export interface Listening {
  readonly port: number;
  readonly server: Server;
  /** Resolves when the app answers. Rejects if it could not be loaded. */
  readonly ready: Promise<void>;
  /** Resolves when the answer to every received request has at least begun, or after a short time limit. */
  answered(): Promise<void>;
  /** Accepts no more connections. If a service manager holds the socket, new connections wait there for the next process. */
  stopAccepting(): void;
  /** Stops accepting and closes idle connections. The others get 5 s, and new requests on them get 503. */
  close(): Promise<void>;
}

export interface ListenOptions {
  /** @defaultValue every interface */
  readonly host?: string;
  /** 0 takes a free port. @defaultValue 0 */
  readonly port?: number;
  /** The path of a Unix socket in place of host and port. Only this user can open it, so its callers need no token. */
  readonly path?: string;
  /** Called with each connection to `path` whose first byte begins a JSON object instead of an HTTP request. */
  readonly onLines?: (socket: Socket) => void;
  /** A bound socket that a service manager passed to the process, in place of host and port. */
  readonly fd?: number;
  /** PEM texts of a certificate chain and its key. The server speaks TLS 1.2 or newer. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Answers probes until the app is loaded. */
  readonly early?: Early;
}

/**
 * Binds the port at once, and loads the app at the first request or after a short wait. Loading blocks the thread, so probes come first.
 *
 * @example
 * const server = await listen(createApp(deps), { host: "127.0.0.1", port: 0 });
 * console.log(`http://127.0.0.1:${server.port}`);
 */
export async function listen(
  app: Servable | ((server: Server) => Promise<Servable>),
  options: ListenOptions,
): Promise<Listening> {
  let answer: RequestListener | undefined;
  let closing = false;
  let closed: Promise<void> | null = null;
  const stopAccepting = () =>
    (closed ??= new Promise<void>((resolve) => {
      server.close(() => resolve());
    }));
  const load = async () => {
    const [loaded, { serveApp }] = await Promise.all([
      typeof app === "function" ? app(server) : app,
      import("./serve-app.js"),
    ]);
    const served = serveApp(server, loaded, { isPrivate: options.path !== undefined, unanswered, keep });
    answer = served.answer;
    return served;
  };
  const { promise: begun, resolve: begin } = withResolvers();
  const loaded = () => {
    begin();
    return serving;
  };
  /** Responses that are not complete. */
  const unanswered = new Set<ServerResponse>();
  const server = await createNodeServer(options.tls, (incoming, outgoing) => {
    silent.delete(incoming.socket);
    unanswered.add(outgoing);
    outgoing.once("close", () => unanswered.delete(outgoing));
    if (closed) outgoing.shouldKeepAlive = false;
    if (closing) return turnAway(outgoing);
    if (answer) return answer(incoming, outgoing);
    if (options.early?.(incoming, outgoing)) return;
    loaded().then(
      ({ answer }) => answer(incoming, outgoing),
      () => outgoing.destroy(),
    );
  });
  const { path, onLines } = options;
  const atPath = path === undefined ? null : await import("./socket-path.js");
  const endQuiet =
    onLines &&
    atPath?.splitLines(server, (socket) => {
      keep(socket);
      onTaken(socket);
      onLines(socket);
    });
  // What follows counts connections from their beginning, also those that are not split yet.
  const silent = silentOn(server, options.tls !== undefined, unanswered);
  const upgraded = new Set<Duplex>();
  const onTaken = (socket: Duplex) => {
    silent.delete(socket);
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
  };
  for (const asked of ["upgrade", "connect"] as const)
    server.on(asked, (incoming, socket, head) => {
      onTaken(socket);
      socket.on("error", () => {});
      if (closing) return void socket.destroy();
      loaded().then(
        (served) => served[asked](incoming, socket, head),
        () => socket.destroy(),
      );
    });
  server.on("clientError", (error, socket) => {
    const isAnswered = [...unanswered].some(({ socket: own, headersSent }) => own === socket && headersSent);
    if (closing || isAnswered) return void socket.destroy();
    loaded().then(
      ({ answerMalformed }) => answerMalformed(error, socket),
      () => socket.destroy(),
    );
  });
  const keep = boundConnections(server, LIMITS.connections);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.once("listening", () => {
      server.off("error", reject);
      resolve();
    });
    if (atPath && path !== undefined) void atPath.bindPath(server, path).catch(reject);
    else server.listen(options.fd === undefined ? { port: options.port ?? 0, host: options.host } : { fd: options.fd });
  });
  const bound = server.address();
  const grace = setTimeout(begin, LIMITS.probesFirstMs);
  const serving = begun.then(load);
  const ready = serving.then(() => {});
  // The requests that wait for the app see its failure, which must not become an unhandled rejection.
  ready.catch(() => {});
  return {
    server,
    ready,
    port: typeof bound === "object" && bound ? bound.port : 0,
    stopAccepting: () => void stopAccepting(),
    async answered() {
      const isQuiet = () => silent.size === 0 && [...unanswered].every(({ headersSent }) => headersSent);
      const last = performance.now() + LIMITS.answersMs;
      while (!isQuiet() && performance.now() < last) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    async close() {
      closing = true;
      clearTimeout(grace);
      const cut = setTimeout(() => {
        server.closeAllConnections();
        for (const socket of upgraded) socket.destroy();
      }, LIMITS.stopMs);
      const sweep = setInterval(() => {
        server.closeIdleConnections();
        endQuiet?.();
      }, 50);
      await stopAccepting();
      clearTimeout(cut);
      clearInterval(sweep);
    },
  };
}

// --- internal ---

/**
 * The connections that have not sent a request yet. Node does not report the close of a connection to a response that still waits for an
 * earlier one, so that is done here.
 */
function silentOn(server: Server, isTls: boolean, unanswered: ReadonlySet<ServerResponse>): Set<Duplex> {
  const silent = new Set<Duplex>();
  server.on(isTls ? "secureConnection" : "connection", (socket: Duplex & { alpnProtocol?: unknown }) => {
    // A connection of HTTP/2 carries many requests, so it cannot be tied to one of them.
    if (socket.alpnProtocol === "h2") return;
    silent.add(socket);
    socket.once("close", () => {
      silent.delete(socket);
      for (const waiting of unanswered) if (!waiting.socket && waiting.req.socket === socket) waiting.emit("close");
    });
  });
  return silent;
}

async function createNodeServer(tls: ListenOptions["tls"], listener: RequestListener): Promise<Server> {
  const options: ServerOptions = {
    headersTimeout: LIMITS.headersTimeoutMs,
    requestTimeout: LIMITS.requestTimeoutMs,
    keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
    connectionsCheckingInterval: 2000,
    // The guard refuses a missing Host like a wrong one.
    requireHostHeader: false,
    highWaterMark: LIMITS.socketBytes,
  };
  return tls
    ? (await import("./secure-server.js")).createSecure({ ...options, ...tls }, listener)
    : createServer(options, listener);
}

/** Refuses a request before any work on it. The client may repeat it, for the next server to answer. */
function turnAway(outgoing: ServerResponse): void {
  const refusal = { status: 503, error: "shutting_down", message: "the server is stopping" } as const;
  refuse(outgoing, refusal, {
    "Retry-After": String(LIMITS.retryAfterSeconds),
    ...(outgoing.req.httpVersionMajor < 2 && { Connection: "close" }),
  });
}
