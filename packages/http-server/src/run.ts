/** Turns of a session as runs, of which the last is the one that is read, and the events that they went through. */
import { createUpgrade, foldConversation, type TurnView } from "@chimera/acp-schema/conversation";
import { endsTurn, isLost, lostNotice, type SessionEvent } from "@chimera/acp-schema/events";
import type { Run } from "@chimera/acp-schema/http";
import type { LogEntry } from "@chimera/event-store";
import type { Context } from "hono";
import type { AppDeps, AppEnv } from "./deps.js";
import { openSink } from "./stream/sink.js";

export function createRunFold(id: string, program: string) {
  const upgrade = createUpgrade();
  const conversation = foldConversation({ keep: "state" });
  /** By number of turn, what the fold of a conversation does not keep. */
  const kept: { agent_name: string; created_at: string; finished_at: string | null }[] = [];
  const runOf = (turn: TurnView): Run => {
    const { output = "", error = null } = turn.result ?? {};
    const { agent_name, ...times } = kept[turn.number]!;
    const said = output === "" ? [] : [message(output)];
    return { run_id: id, agent_name, status: statusOf(turn), session_id: id, output: said, error, ...times };
  };
  return {
    /** The last turn so far; null before the first prompt. */
    get run() {
      const last = conversation.turns.at(-1);
      return last ? runOf(last) : null;
    },
    /** Takes the next entry. Returns what a client of the run is shown of it, if anything. */
    apply(entry: LogEntry<SessionEvent>) {
      // The run API has an event for whatever it does not name.
      if (isLost(entry)) return { type: "generic", generic: lostNotice(entry) };
      if (!RUN_TYPES.has(entry.type)) return null;
      const record = upgrade(entry.event);
      if (record?.type === "text_delta") return { type: "message_created", message: message(record.metadata.text) };
      if (!record) return null;
      conversation.apply(record);
      const turn = conversation.turns[record.turn ?? conversation.turns.length - 1];
      if (!turn || record.type === "config_changed") return null;
      const { agent: agent_name = program } = conversation.settings;
      if (record.type === "user_message") kept[turn.number] = { agent_name, created_at: record.ts, finished_at: null };
      if (endsTurn(record.type)) kept[turn.number]!.finished_at = record.ts;
      return { type: EVENTS[statusOf(turn)], run: runOf(turn) };
    },
  };
}

/** A new run as it goes: its events as they happen, until its turn has ended or the peer has gone. */
export function streamRun(
  c: Context<AppEnv>,
  id: string,
  deps: Pick<AppDeps, "name" | "log" | "sessions">,
  onGone: () => void,
): Response {
  const sink = openSink(c);
  const stop = new AbortController();
  const fold = createRunFold(id, deps.name);
  const subscription = deps.sessions.logs.follow(id, { from: 0, signal: stop.signal }, async (batch) => {
    let text = "";
    for (const entry of batch) {
      const event = fold.apply(entry);
      // The reader of a stream knows that it made the run.
      if (event && event.type !== "run_created") text += `data: ${JSON.stringify(event)}\n\n`;
    }
    if (text !== "") await sink.write(Buffer.from(text));
    if (batch.some((entry) => endsTurn(entry.type))) stop.abort();
  });
  const cut = () => stop.abort();
  c.get("caller").life.addEventListener("abort", cut, { once: true, signal: stop.signal });
  void sink.gone.then(() => {
    cut();
    onGone();
  });
  void subscription.ended
    .catch((error: unknown) => deps.log?.("stream failed", { session: id, error: String(error) }))
    .finally(() => sink.end());
  return sink.response;
}

// --- internal ---

const EVENTS = {
  created: "run_created",
  "in-progress": "run_in_progress",
  completed: "run_completed",
  failed: "run_failed",
  cancelled: "run_cancelled",
} as const;

/** Record types that a run is made of; the rest need not even be decoded. */
const RUN_TYPES: ReadonlySet<string> = new Set([
  "config_changed",
  "user_message",
  "turn_start",
  "text_delta",
  "agent_result",
  "cancelled",
]);

function statusOf({ started, result }: TurnView): keyof typeof EVENTS {
  if (!result) return started ? "in-progress" : "created";
  return result.cancelled ? "cancelled" : result.success ? "completed" : "failed";
}

function message(text: string) {
  return { role: "agent", parts: [{ content_type: "text/plain", content: text }] };
}
