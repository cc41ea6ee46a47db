/**
 * The run API: one prompt, answered when it is done, at once, or as a stream. Nobody is there to approve, so calls that need an approval are
 * denied.
 */

import { createUpgrade, foldConversation, type TurnView } from "@chimera/acp-schema/conversation";
import { endsTurn, isLost, lostNotice, type SessionEvent } from "@chimera/acp-schema/events";
import type { CreateRunBody, Run } from "@chimera/acp-schema/http";
import type { LogEntry } from "@chimera/event-store";
import type { OwnedSession } from "@chimera/session";
import type { Context } from "hono";
import { requestOf } from "../creations.js";
import type { AppDeps, AppEnv } from "../deps.js";
import { HttpError } from "../http-error.js";
import { LIMITS } from "../limits.js";
import { readBody } from "../request/body.js";
import { openSink, stopOf } from "../stream/sink.js";
import { streamArray } from "../stream/text-body.js";
import { requireManifest } from "./program.js";
import { type Handlers, pathPart, type RouteDeps } from "./route.js";

export function agentRunRoutes({ deps, openSession, creations, streams }: RouteDeps) {
  const { sessions } = deps;

  const requireRun = async (id: string): Promise<void> => {
    const known = sessions.find(id) ?? (await sessions.logs.has(id).catch(() => false));
    if (!known) throw new HttpError(404, "run_not_found", `there is no run ${id}`);
  };

  const readRun = async (id: string): Promise<Run> => {
    await requireRun(id);
    const last = sessions.find(id)?.conversation.turns.at(-1);
    if (last) return runOf(id, deps.name, last);
    const fold = createRunFold(id, deps.name);
    for await (const entry of sessions.logs.read(id)) if (entry.type !== "text_delta") fold.apply(entry);
    if (!fold.run) throw new HttpError(404, "run_not_found", `there is no run ${id}`);
    return fold.run;
  };

  const start = async (c: Context<AppEnv>, body: CreateRunBody): Promise<OwnedSession> => {
    const { agent_name, input } = body;
    const { mode: _, ...asked } = body;
    const request = requestOf(c, asked);
    await requireManifest(deps, agent_name);
    const text = input.flatMap((message) => message.parts.map((part) => part.content)).join("\n");
    if (text.trim() === "") throw new HttpError(400, "missing_prompt", "input has no text");
    const begin = async (session: OwnedSession) => {
      if (agent_name !== deps.name) await session.set({ agent: agent_name });
      await session.prompt({ text, key: request?.key }).durable;
    };
    const { id, isNew } = await creations.once(request, async () => {
      return (await openSession.make({ cwd: deps.defaultCwd, prompted: true, request }, begin)).id;
    });
    const session = await sessions.load(id);
    // The process that made the session died before it sent the prompt.
    if (!isNew && session.conversation.turns.length === 0) await begin(session);
    return session;
  };

  return {
    "POST /runs": async (c) => {
      const body = await readBody(c, "POST /runs", { input: "invalid_input", agent_name: "missing_agent_name" });
      if (body.mode === "async") return c.json(await readRun((await start(c, body)).id), 202);
      const leave = await streams.enter(sessions, c.get("caller"));
      try {
        const session = await start(c, body);
        if (body.mode === "stream") return streamRun(c, session.id, deps, leave);
        await session.idle();
        const run = c.json(await readRun(session.id));
        leave();
        return run;
      } catch (error) {
        leave();
        throw error;
      }
    },

    "GET /runs/{run_id}": async (c) => c.json(await readRun(pathPart(c, "run_id"))),

    "POST /runs/{run_id}/cancel": async (c) => {
      const id = pathPart(c, "run_id");
      await requireRun(id);
      // Load the session: a turn that runs in another process cannot be cancelled here.
      const session = await sessions.load(id);
      if (await session.cancel()) await Promise.race([session.idle(), settled(LIMITS.farewellMs)]);
      return c.json(await readRun(id));
    },

    "GET /runs/{run_id}/events": async (c) => {
      const id = pathPart(c, "run_id");
      // Throws for a session without a prompt: it is not a run.
      await readRun(id);
      return streamArray(c, deps.log, { head: '{"events":[', members: eventsOf(id, deps), tail: "]}" });
    },
  } satisfies Handlers;
}

// --- internal ---

function settled(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

/** A turn as a run. @param program the name of the default agent */
function runOf(id: string, program: string, turn: TurnView): Run {
  const { output = "", error = null } = turn.result ?? {};
  return {
    run_id: id,
    agent_name: turn.agent ?? program,
    status: statusOf(turn),
    session_id: id,
    output: output === "" ? [] : [message(output)],
    error,
    created_at: turn.createdAt ?? "",
    finished_at: turn.endedAt,
  };
}

/** Folds the records of a session into its run, which is its last turn, and into the events of that run. */
function createRunFold(id: string, program: string) {
  const upgrade = createUpgrade();
  const conversation = foldConversation({ keep: "state" });
  return {
    /** The last turn so far. Null before the first prompt. */
    get run() {
      const last = conversation.turns.at(-1);
      return last ? runOf(id, program, last) : null;
    },
    /** Takes the next entry. Returns the event for clients, or null if the entry makes none. */
    apply(entry: LogEntry<SessionEvent>) {
      // The run API has the event `generic` for everything that it does not name.
      if (isLost(entry)) return { type: "generic", generic: lostNotice(entry) };
      if (!RUN_TYPES.has(entry.type)) return null;
      const record = upgrade(entry.event);
      if (record?.type === "text_delta") return { type: "message_created", message: message(record.metadata.text) };
      if (!record) return null;
      conversation.apply(record);
      const turn = conversation.turns[record.turn ?? conversation.turns.length - 1];
      if (!turn || record.type === "config_changed") return null;
      return { type: EVENTS[statusOf(turn)], run: runOf(id, program, turn) };
    },
  };
}

/** The events of all turns of a session, each as JSON. */
async function* eventsOf(id: string, { name, sessions }: Pick<AppDeps, "name" | "sessions">): AsyncGenerator<string> {
  const fold = createRunFold(id, name);
  for await (const entry of sessions.logs.read(id)) {
    const event = fold.apply(entry);
    if (event) yield JSON.stringify(event);
  }
}

/** Streams the events of a new run until its turn has ended or the peer has gone. */
function streamRun(
  c: Context<AppEnv>,
  id: string,
  deps: Pick<AppDeps, "name" | "log" | "sessions">,
  onGone: () => void,
): Response {
  const sink = openSink(c);
  void sink.gone.then(onGone);
  const stop = stopOf(c, sink);
  const fold = createRunFold(id, deps.name);
  const subscription = deps.sessions.logs.follow(id, { from: 0, signal: stop.signal }, async (batch) => {
    let text = "";
    for (const entry of batch) {
      const event = fold.apply(entry);
      // The reader of the stream made the run itself.
      if (event && event.type !== "run_created") text += `data: ${JSON.stringify(event)}\n\n`;
    }
    if (text !== "") await sink.write(Buffer.from(text));
    if (batch.some((entry) => !isLost(entry) && endsTurn(entry.type) && entry.event.turn === FIRST_TURN)) stop.abort();
  });
  void subscription.ended
    .catch((error: unknown) => deps.log?.("stream failed", { session: id, error: String(error) }))
    .finally(() => sink.end());
  return sink.response;
}

/** The turn of a new run. Other clients may send further prompts to its session, and cancel them. */
const FIRST_TURN = 0;

const EVENTS = {
  created: "run_created",
  "in-progress": "run_in_progress",
  completed: "run_completed",
  failed: "run_failed",
  cancelled: "run_cancelled",
} as const;

/** The record types that a run is made of. Records of other types are not decoded. */
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
