/** The event streams of both families. */
import { parseCursor } from "@chimera/event-store";
import { isSessionError } from "@chimera/session";
import type { Context } from "hono";
import type { AppEnv } from "../deps.js";
import { canonical, envelope, type Family } from "../stream/projection.js";
import { openSink, STREAM_HEADERS } from "../stream/sink.js";
import { type Handlers, type Parts, pathPart } from "./route.js";

export function eventRoutes({ deps, openSession, streams }: Parts) {
  const { sessions } = deps;

  const stream = (c: Context<AppEnv>, family: Family): Response => {
    if (c.req.method === "HEAD") return c.body(null, 200, STREAM_HEADERS);
    const caller = c.get("caller");
    const leave = streams.enter();
    const sink = openSink(c);
    void sink.gone.then(leave);
    streams.open({
      id: pathPart(c, "id"),
      family,
      from: c.req.query("from") === "live" ? "live" : parseCursor(c.req.header("last-event-id")),
      sink,
      life: caller.kind === "session" ? caller.life : undefined,
    });
    return sink.response;
  };

  /** A turn that a crash cut off gets its last record when its session is loaded; one held elsewhere is read as it is. */
  const endCutOff = async (id: string): Promise<void> => {
    const summary = await sessions.logs.readSummary(id).catch(() => null);
    if (summary !== null && summary.state !== "idle") await sessions.load(id).catch(() => {});
  };

  return {
    "GET /sessions/{id}/events": async (c) => {
      const id = pathPart(c, "id");
      const session = sessions.find(id);
      session?.touch();
      if (!session) {
        await openSession.requireLog(id);
        await endCutOff(id);
      }
      return stream(c, canonical);
    },
    "GET /session/{id}/events": async (c) => {
      const id = pathPart(c, "id");
      // Any process may read a log, also while another one holds the session.
      await openSession(id).catch(async (error) => {
        if (!isSessionError(error) || error.code !== "session_claimed") throw error;
      });
      return stream(c, envelope);
    },
  } satisfies Handlers;
}
