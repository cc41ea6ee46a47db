/** `GET /sessions/{id}/events`: replay, then live, from the log; ends when a turn's last record passed and nothing is left to run. */

import type { ServerResponse } from "node:http";
import { endsTurn, type SessionEvent } from "@chimera/acp-schema/events";
import type { EventStore } from "@chimera/event-store";
import type { Sessions, Summary } from "@chimera/session";
import { encodeBatch } from "./frame.js";
import { openSink } from "./sink.js";

const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = Buffer.from(": keep-alive\n\n");

export function streamEvents(options: {
  readonly id: string;
  readonly store: EventStore<SessionEvent, Summary>;
  readonly sessions: Sessions;
  readonly from: number | "live";
  readonly outgoing: ServerResponse | undefined;
  readonly signal: AbortSignal;
}): Response {
  const { id, store, sessions, from } = options;
  const sink = openSink(options.outgoing);
  const stop = new AbortController();
  const keepAlive = setInterval(() => void sink.write(KEEP_ALIVE), KEEP_ALIVE_MS);
  let ended: { success: boolean } | null = null;

  const subscription = store.subscribe(id, { from, signal: stop.signal }, async (batch, { live }) => {
    await sink.write(encodeBatch(batch));
    const last = batch.findLast((entry) => endsTurn(entry.type))?.event;
    if (last) ended = { success: last.type === "agent_result" && last.metadata.success };
    if (!ended || !live || isBusy(sessions, id)) return;
    await sink.write(Buffer.from(`event: end\ndata: ${JSON.stringify({ session_id: id, ...ended })}\n\n`));
    subscription.close();
  });
  void sink.gone.then(() => stop.abort());
  void subscription.ended
    .catch(() => {})
    .finally(() => {
      clearInterval(keepAlive);
      sink.end();
    });
  return sink.response;
}

// --- internal ---

/** Prompts run first in, first out: while any waits or runs, the newest turn has not ended. */
function isBusy(sessions: Sessions, id: string): boolean {
  return sessions.find(id)?.history.turns.at(-1)?.ended === false;
}
