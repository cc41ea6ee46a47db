/** The event streams of both families. */
import { endsTurn, isLost, lostCount } from "@chimera/acp-schema/events";
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
    const sink = openSink(c);
    streams.open({
      id: pathPart(c, "id"),
      family,
      from: c.req.query("from") === "live" ? "live" : parseCursor(c.req.header("last-event-id")),
      sink,
      life: caller.kind === "session" ? caller.life : undefined,
    });
    return sink.response;
  };

  /**
   * A turn that a crash cut off gets its last record when its session is loaded, and whoever reads on waits for that. A log
   * without one is read as it is, and so is one that another process writes. A lost record may have been a turn's last one.
   */
  const endCutOff = async (id: string): Promise<void> => {
    let unended = 0;
    for await (const entry of sessions.logs.read(id)) {
      if (entry.type === "user_message") unended++;
      else if (isLost(entry)) unended = Math.max(0, unended - lostCount(entry));
      else if (endsTurn(entry.type)) unended = Math.max(0, unended - 1);
    }
    if (unended > 0) await sessions.load(id).catch(() => {});
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
