/**
 * `@chimera/session/anywhere`: the sessions of all nodes that share a store, as one connection uses them. The log of a session that another
 * node has is read here; what is asked of it is done there, once.
 */
import { setTimeout as pause } from "node:timers/promises";
import { isLost, type SessionEvent } from "@chimera/acp-schema/events";
import type { LogEntry } from "@chimera/event-store";
import { type AwaySession, type SendCall, watchAway } from "./away-session.js";
import { type CallDone, type CallOutcome, perform, type SessionCall, thrownBy } from "./calls.js";
import { heldElsewhere, isSessionError, namedError } from "./errors.js";
import { createCollected } from "./logs.js";
import type { Person } from "./person.js";
import type { PromptInput, Session, SessionClient } from "./session.js";
import type { ReachableSessions, Sessions } from "./sessions.js";
import type { Settings } from "./settings.js";

export { createCallAnswerer } from "./calls.js";

/** Has the node that holds the session do this; null when this one may. Both are text. */
export type AskNode = (sessionId: string, request: string) => Promise<string | null>;

export interface SessionsAnywhere extends ReachableSessions {
  /** The connection has gone: no log of another node's session is read for it any more. */
  leave(): void;
}

export interface AnywhereOptions {
  readonly ask: AskNode;
  /** Who calls; `sessions` are already theirs. @defaultValue the program's own user */
  readonly person?: Person | undefined;
}

/**
 * @example
 * const reachable = sessionsAnywhere(sessions, { ask: inbox.ask });
 * await (await reachable.load(id)).prompt({ text: "go on" }); // wherever the session is
 */
export function sessionsAnywhere(sessions: Sessions, { ask, person }: AnywhereOptions): SessionsAnywhere {
  const askNode = (call: Call) => askHolder(ask, { ...call, ...(person && { person }) });
  /** Done by the node that has the session, or here when none has it. */
  const send = (call: Call): Promise<CallDone> =>
    whileMoving(async () => {
      const there = await askNode(call).catch((error: unknown) => {
        // A prompt with a key is run once, however often it is sent.
        if (!isKeyed(call) || !isSessionError(error) || error.code !== "outcome_unknown") throw error;
        return null;
      });
      return there ?? perform(sessions, call);
    });
  const away = createAway(sessions, send);
  const madeWith = async (id: string): Promise<Settings | null> =>
    ((await askNode({ session: id, method: "made", args: [] }))?.value as Settings | undefined) ?? null;
  const load = (id: string): Promise<Session> =>
    whileMoving(async () => {
      try {
        return await sessions.load(id);
      } catch (error) {
        if (heldElsewhere(error) === null) throw error;
        const known = away.find(id);
        if (known) return known;
        const made = await madeWith(id);
        if (made === null) throw error;
        return away.watch(id, made);
      }
    });
  /** Has the session as it was after this record, so that what readers ask it is not older than what they read. */
  const reach = async (id: string, seq: number): Promise<void> => {
    if (sessions.find(id)) return;
    const session = away.find(id) ?? (await away.watch(id, await madeWith(id)));
    await session.durable(seq);
  };

  return {
    ...sessions,
    logs: {
      ...sessions.logs,
      // A session that is not loaded here may be written by another node, so its readers never sleep.
      follow: (id, { sleeps: _, ...options }, reader) =>
        sessions.logs.follow(id, options, async (batch, position) => {
          await reach(id, lastOf(batch)).catch(() => {});
          return reader(batch, position);
        }),
    },
    load,
    async loadVisible(id) {
      const session = await load(id);
      if (session === sessions.find(id)) return sessions.loadVisible(id);
      return { session, head: session.lastSeq, visible: createCollected().visible(sessions.logs, session) };
    },
    find: (id) => sessions.find(id) ?? away.find(id),
    isAway: (id) => !sessions.find(id) && away.find(id) !== undefined,
    live: () => [...sessions.live(), ...away.all().filter(({ id }) => !sessions.find(id))],
    attach: (id, client) =>
      sessions.find(id) || !away.find(id) ? sessions.attach(id, client) : attachLater(sessions, id, client),
    async close(id) {
      if (sessions.find(id)) return sessions.close(id);
      await send({ session: id, method: "close", args: [] });
      away.find(id)?.leave();
    },
    async delete(id) {
      if (sessions.find(id)) return sessions.delete(id);
      await send({ session: id, method: "delete", args: [] });
    },
    leave: away.leave,
  };
}

/**
 * What the node answers that has the session; null: no other node has it, or it just changes hands.
 *
 * @example
 * const done = await askHolder(inbox.ask, { session: id, method: "cancel", args: [] });
 */
export async function askHolder(ask: AskNode, call: SessionCall): Promise<CallDone | null> {
  const reply = await ask(call.session, JSON.stringify({ call })).catch((error: unknown) => {
    throw namedError(error);
  });
  if (reply === null) return null;
  const outcome = JSON.parse(reply) as CallOutcome;
  if ("value" in outcome) return outcome;
  if (outcome.error.code !== undefined && MOVED.has(outcome.error.code)) return null;
  throw thrownBy(outcome.error, call.session);
}

/** With these errors the other node did nothing: it found that it does not have the session any more. */
export const MOVED: ReadonlySet<string> = new Set(["session_claimed", "session_elsewhere"]);

/**
 * Tries again while a session changes hands: neither here nor at another node anything was done.
 *
 * @example
 * const session = await whileMoving(() => sessions.load(id));
 */
export async function whileMoving<T>(attempt: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (error) {
      if (heldElsewhere(error) === null || attempts > ATTEMPTS) throw error;
    }
    await pause(AGAIN_MS);
  }
}

// --- internal ---

/** How often a session that changes hands is looked for again, and after how long. */
const ATTEMPTS = 40;
const AGAIN_MS = 50;

type Call = Omit<SessionCall, "person">;
/** The sessions of other nodes that this connection follows. */
function createAway(sessions: Sessions, send: (call: Call) => Promise<CallDone>) {
  const followed = new Map<string, AwaySession>();
  const opening = new Map<string, Promise<AwaySession>>();
  let isGone = false;
  const forget = (id: string, opened: Promise<AwaySession>): void => {
    if (opening.get(id) !== opened) return;
    opening.delete(id);
    followed.get(id)?.leave();
    followed.delete(id);
  };
  return {
    find: (id: string) => followed.get(id),
    all: () => [...followed.values()],
    watch(id: string, made: Settings | null): Promise<AwaySession> {
      const known = opening.get(id);
      if (known) return known;
      const command: SendCall = (method, args) => send({ session: id, method, args: args.map((value) => ({ value })) });
      const opened = watchAway(sessions, id, made, command).then((session) => {
        followed.set(id, session);
        void session.ended.then(() => forget(id, opened));
        if (isGone) session.leave();
        return session;
      });
      opening.set(id, opened);
      opened.catch(() => forget(id, opened));
      return opened;
    },
    /** Follows none any more, from now on. */
    leave(): void {
      isGone = true;
      for (const session of followed.values()) session.leave();
    },
  };
}

/** What a client lends to a session that another node has is of use once the session runs here. */
function attachLater(sessions: Sessions, id: string, client: SessionClient): { detach(): void } {
  let attached: { detach(): void } | null = null;
  const stop = sessions.onLoad((session) => {
    if (session.id === id) attached ??= sessions.attach(id, client);
  });
  return {
    detach() {
      stop();
      attached?.detach();
    },
  };
}

function isKeyed({ method, args }: Call): boolean {
  return method === "prompt" && (args[0]?.value as PromptInput | undefined)?.key !== undefined;
}

function lastOf(batch: readonly LogEntry<SessionEvent>[]): number {
  const entry = batch.at(-1);
  return entry === undefined ? 0 : isLost(entry) ? entry.last : entry.seq;
}
