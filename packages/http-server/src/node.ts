/** `@chimera/http-server/node`: an app on a Node server, closed gracefully. */
import { createServer, type Server } from "node:http";
import { getRequestListener } from "@hono/node-server";

export interface Listening {
  readonly port: number;
  readonly server: Server;
  /** Stops accepting, ends idle connections at once and the rest when they are done. */
  close(): Promise<void>;
}

type Fetch = (request: Request, env: never) => Response | Promise<Response>;

export async function listen(
  app: { readonly fetch: Fetch },
  address: { readonly host: string; readonly port: number },
): Promise<Listening> {
  const server = createServer(
    { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 5_000 },
    getRequestListener((request, env) => app.fetch(request, env as never)),
  );
  server.maxConnections = 1000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(address.port, address.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const bound = server.address();
  return {
    server,
    port: typeof bound === "object" && bound ? bound.port : address.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}
