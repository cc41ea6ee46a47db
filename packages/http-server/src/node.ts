/** `@chimera/http-server/node`: an app on a Node server, with or without TLS, stopped gracefully. */
import { createServer, type RequestListener, type Server, type ServerOptions } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { getRequestListener } from "@hono/node-server";
import { LIMITS } from "./limits.js";

export interface Listening {
  readonly port: number;
  readonly server: Server;
  /** Stops accepting and ends idle connections; resolves when the rest have ended, cut after 5 s at the latest. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** PEM texts of a certificate chain and its key. TLS 1.2 is the least that is spoken. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

type Fetch = (request: Request, env: never) => Response | Promise<Response>;

export async function listen(app: { readonly fetch: Fetch }, options: ListenOptions): Promise<Listening> {
  const listener = getRequestListener((request, env) => app.fetch(request, env as never), { errorHandler: refuse });
  const server = createNodeServer(options.tls, listener);
  server.maxConnections = LIMITS.connections;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const bound = server.address();
  return {
    server,
    port: typeof bound === "object" && bound ? bound.port : options.port,
    close: () =>
      new Promise((resolve) => {
        const cut = setTimeout(() => server.closeAllConnections(), LIMITS.stopMs);
        server.close(() => {
          clearTimeout(cut);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

// --- internal ---

function createNodeServer(tls: ListenOptions["tls"], listener: RequestListener): Server {
  const options: ServerOptions = {
    headersTimeout: LIMITS.headersTimeoutMs,
    requestTimeout: LIMITS.requestTimeoutMs,
    keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
    connectionsCheckingInterval: 2000,
    highWaterMark: LIMITS.socketBytes,
  };
  if (!tls) return createServer(options, listener);
  return createTlsServer(
    { ...options, ...tls, minVersion: "TLSv1.2", handshakeTimeout: LIMITS.headersTimeoutMs },
    listener,
  );
}

/** A request whose target or Host makes no URL never reaches the app. */
function refuse(error: unknown): Response {
  const aboutHost = error instanceof Error && /host/i.test(error.message);
  const body = aboutHost ? { error: "bad_host" } : { error: "bad_request" };
  return Response.json(body, { status: aboutHost ? 403 : 400 });
}
