/** The event streams of one session, in both families, and the stream of several sessions. */
import { endsTurn, isLost } from "@chimera/acp-schema/events";
import { parseCursor } from "@chimera/event-store";
import { foldLog, isSessionError } from "@chimera/session";
import type { Context } from "hono";
import type { AppEnv } from "../deps.js";
import { readQuery } from "../request/query.js";
import { openMany, parseCursors } from "../stream/many.js";
import { canonical, envelope, type Family } from "../stream/projection.js";
import { createRowWatch } from "../stream/rows.js";
import { type Handlers, nameOf, pathPart, type RouteDeps } from "./route.js";

/** Errors of loading after which a stream opens all the same: any process may read a log while another one has the session. */
const READ_ANYWAY: ReadonlySet<string> = new Set(["session_claimed", "session_elsewhere"]);

/** Records at the end of a log that are searched for a turn without an end. Settings and waiting prompts may come after that turn. */
const TAIL = 256;

export function eventRoutes({ deps, everybody, openSession, streams }: RouteDeps) {
  const { sessions } = deps;
  const watchRows = createRowWatch(sessions, everybody, deps.peers?.held);

  const stream = async (
    c: Context<AppEnv>,
    family: Family,
    route: "GET /sessions/{id}/events" | "GET /session/{id}/events",
  ): Promise<Response> => {
    const { from, turn, until = family.ends ? "end" : "never" } = readQuery(c, route);
    const id = pathPart(c, "id");
    const last = c.req.header("last-event-id");
    const start = last === undefined && turn !== undefined ? await beforeTurn(id, Number(turn)) : parseCursor(last);
    return streams.begin(c, sessions, (sink, stop) =>
      streams.open({
        sessions,
        id,
        family,
        from: from === "live" ? "live" : start,
        until,
        name: nameOf(c),
        sink,
        stop,
      }),
    );
  };

  /** The number of the record before a turn. 0 if the turn does not exist yet or if its prompt is lost. */
  const beforeTurn = async (id: string, turn: number): Promise<number> => {
    const { turns } = sessions.find(id)?.conversation ?? (await foldLog(sessions.logs, id, { keep: "state" }));
    return (turns[turn]?.seq ?? 1) - 1;
  };

  /**
   * Loads the session if a crash cut off its last turn, because loading writes the missing last record. If another process has the session,
   * its log is read as it is. Throws `session_not_found`.
   */
  const requireEnded = async (id: string): Promise<void> => {
    if (sessions.find(id)) return;
    await openSession.requireLog(id);
    if (await isCutOff(id)) await sessions.load(id).catch(() => {});
  };

  /** Whether the last turn has no end, by the summary or else by the log: a crash may come between a record and its summary. */
  const isCutOff = async (id: string): Promise<boolean> => {
    const { logs } = sessions;
    const summary = await logs.readSummary(id).catch(() => null);
    if (summary === null) return false;
    if (summary.state !== "idle") return true;
    const last = await logs.lastSeq(id);
    const unended = new Set<number>();
    for await (const entry of logs.read(id, { from: Math.max(0, last - TAIL) })) {
      if (isLost(entry) || entry.event.turn === null) continue;
      if (endsTurn(entry.type)) unended.delete(entry.event.turn);
      else unended.add(entry.event.turn);
    }
    return unended.size > 0;
  };

  return {
    "GET /events": async (c) => {
      const { list } = readQuery(c, "GET /events");
      const cursors = parseCursors(c.req.queries("session") ?? [], c.req.header("last-event-id"));
      for (const id of cursors.keys()) await requireEnded(id);
      return streams.begin(c, sessions, (sink, stop) => {
        void sink.gone.then(streams.attend([...cursors.keys()], nameOf(c)));
        openMany(sessions, deps.log, { cursors, rows: list === "true" ? watchRows : null, sink, stop });
      });
    },
    "GET /sessions/{id}/events": async (c) => {
      const id = pathPart(c, "id");
      sessions.find(id)?.touch();
      await requireEnded(id);
      return stream(c, canonical, "GET /sessions/{id}/events");
    },
    "GET /session/{id}/events": async (c) => {
      const id = pathPart(c, "id");
      await openSession(id).catch(async (error) => {
        if (!isSessionError(error) || !READ_ANYWAY.has(error.code)) throw error;
      });
      return stream(c, envelope, "GET /session/{id}/events");
    },
  } satisfies Handlers;
}
