/** Has a Node server answer with an app. Loaded with the app, after the port is bound. */
import type { RequestListener, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { getRequestListener, RequestError } from "@hono/node-server";
import { serveOtherProtocols } from "./other-protocols.js";
import { headersFor, refuse } from "./outside-app.js";
import { answerMalformed, refusalOf } from "./unreadable.js";
import { createUpgrade } from "./upgrade.js";

export interface Servable {
  fetch(request: Request, env: never): Response | Promise<Response>;
}

export function serveApp(
  server: Server,
  app: Servable,
  {
    isPrivate,
    unanswered,
    keep,
  }: {
    readonly isPrivate: boolean;
    readonly unanswered: ReadonlySet<ServerResponse>;
    /** Called with a connection that becomes a WebSocket. */
    readonly keep: (socket: Duplex) => void;
  },
) {
  const fetch = (request: Request, env: object) =>
    app.fetch(request, (isPrivate ? { ...env, isPrivate } : env) as never);
  const serve = getRequestListener(fetch, {
    // A balancer that speaks HTTP/1.0 names no host; by this name it is answered what any other that is not served is.
    hostname: "unnamed.invalid",
    errorHandler(error) {
      // Answered below, where the request is at hand.
      if (error instanceof RequestError) throw error;
      return Response.json({ error: "internal_error" }, { status: 500, headers: headersFor() });
    },
  });
  const answer: RequestListener = (incoming, outgoing) =>
    serve(incoming, outgoing).catch((error: Error) => refuse(outgoing, refusalOf(incoming, error.message)));
  return { answer, answerMalformed, ...serveOtherProtocols(server, createUpgrade(fetch, keep), unanswered) };
}
