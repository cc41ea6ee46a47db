/** A run as it goes: its events as they happen, until its turn has ended or the peer has gone. */
import { endsTurn } from "@chimera/acp-schema/events";
import type { RunEvent } from "@chimera/acp-schema/http";
import type { Session } from "@chimera/session";
import type { Context } from "hono";
import type { AppDeps, AppEnv } from "../deps.js";
import { createRunFold } from "../run.js";
import { openSink } from "./sink.js";

export function streamRun(
  c: Context<AppEnv>,
  session: Session,
  deps: Pick<AppDeps, "name" | "log" | "sessions">,
): Response {
  const sink = openSink(c);
  const stop = new AbortController();
  const fold = createRunFold(session.id, deps.name);
  const subscription = deps.sessions.logs.follow(session.id, { from: 0, signal: stop.signal }, async (batch) => {
    let text = "";
    for (const entry of batch) {
      const event = fold.apply(entry);
      // The reader of a stream knows that it made the run.
      if (event && event.type !== "run_created") text += line(event);
    }
    if (text !== "") await sink.write(Buffer.from(text));
    if (batch.some((entry) => endsTurn(entry.type))) stop.abort();
  });
  void sink.gone.then(() => stop.abort());
  void subscription.ended
    .catch((error: unknown) => deps.log?.("stream failed", { session: session.id, error: String(error) }))
    .finally(() => sink.end());
  return sink.response;
}

// --- internal ---

function line(event: RunEvent): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}
