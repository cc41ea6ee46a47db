/** Event streams of sessions: replay from a cursor, then live, from the log; each ends by one of a few causes, cleanly. */
import type { ServerResponse } from "node:http";
import type { Sessions } from "@chimera/session";
import { LIMITS } from "../limits.js";
import { frame } from "./frame.js";
import { type Family, outcomeOf } from "./projection.js";
import { openSink } from "./sink.js";

export interface StreamRequest {
  readonly id: string;
  readonly family: Family;
  readonly from: number | "live";
  readonly outgoing: ServerResponse | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** The life of the token it was opened with: when that ends, so does the stream, at once. */
  readonly life: AbortSignal | undefined;
}

export interface Streams {
  open(request: StreamRequest): Response;
  /** Ends every stream of a session at once. */
  cut(id: string): void;
}

const KEEP_ALIVE = Buffer.from(": keep-alive\n\n");

export function createStreams(sessions: Sessions): Streams {
  const open = new Map<string, Set<() => void>>();

  const register = (id: string, cut: () => void): (() => void) => {
    const streams = open.get(id) ?? new Set();
    open.set(id, streams.add(cut));
    return () => {
      streams.delete(cut);
      if (streams.size === 0 && open.get(id) === streams) open.delete(id);
    };
  };

  return {
    cut(id) {
      for (const cut of [...(open.get(id) ?? [])]) cut();
    },
    open({ id, family, from, outgoing, headers, life }) {
      const session = sessions.find(id);
      const sink = openSink(outgoing, headers);
      const stop = new AbortController();
      const cut = () => stop.abort();
      const unregister = register(id, cut);
      life?.addEventListener("abort", cut, { once: true });
      let cursor = 0;
      let busy = false;
      let closing = false;
      let outcome: ReturnType<typeof outcomeOf> = null;

      const passed = (live: boolean) => {
        busy = false;
        const atHead = live && cursor >= (sessions.find(id)?.lastSeq ?? 0);
        if (closing && atHead) return cut();
        if (!family.ends || !outcome || !atHead || isBusy(sessions, id)) return;
        void sink.write(Buffer.from(frame(null, "end", JSON.stringify({ session_id: id, ...outcome }))));
        cut();
      };
      const subscription = sessions
        .storeOf(id)
        .subscribe(id, { from, signal: stop.signal, maxBytes: LIMITS.streamWindowBytes }, (batch, { live }) => {
          cursor = batch.at(-1)!.seq;
          outcome = outcomeOf(batch) ?? outcome;
          const behind = sink.write(family.encode(batch));
          if (!behind) return passed(live);
          busy = true;
          return behind.then(() => passed(live));
        });

      const keepAlive = setInterval(() => {
        if (!busy) void sink.write(KEEP_ALIVE);
      }, LIMITS.keepAliveMs);
      let farewell: NodeJS.Timeout | undefined;
      void session?.ended.then(() => {
        closing = true;
        if (!busy && cursor >= session.lastSeq) cut();
        else farewell = setTimeout(cut, LIMITS.farewellMs);
      });
      void sink.gone.then(cut);
      void subscription.ended
        .catch(() => {})
        .finally(() => {
          clearInterval(keepAlive);
          clearTimeout(farewell);
          life?.removeEventListener("abort", cut);
          unregister();
          sink.end();
        });
      return sink.response;
    },
  };
}

// --- internal ---

function isBusy(sessions: Sessions, id: string): boolean {
  return (sessions.find(id)?.state ?? "idle") !== "idle";
}
