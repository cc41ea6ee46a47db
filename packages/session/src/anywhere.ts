/**
 * `@chimera/session/anywhere`: the sessions of all nodes of a shared store, for one connection. The log of another node's session is read
 * here. Commands to such a session are sent to its node, which runs them once.
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

/** Sends a request to the node that holds the session and returns its reply. Null if no other node holds it. Both are text. */
export type AskNode = (sessionId: string, request: string) => Promise<string | null>;

export interface SessionsAnywhere extends ReachableSessions {
  /** Stops reading the logs of other nodes' sessions. Call it when the connection has closed. */
  leave(): void;
}

export interface AnywhereOptions {
  readonly ask: AskNode;
  /** The person who calls. `sessions` must be limited to this person already. @defaultValue the program's own user */
  readonly person?: Person | undefined;
}

/**
 * @example
 * const reachable = sessionsAnywhere(sessions, { ask: inbox.ask });
 * await (await reachable.load(id)).prompt({ text: "go on" }); // wherever the session is
 */
export function sessionsAnywhere(sessions: Sessions, { ask, person }: AnywhereOptions): SessionsAnywhere {
  const askNode = (call: Call) => askHolder(ask, { ...call, ...(person && { person }) });
  /** Runs a call at the node that has the session, or here if no other node has it. */
  const send = (call: Call): Promise<CallDone> =>
    whileMoving(async () => {
      const there = await askNode(call).catch((error: unknown) => {
        // A prompt with a key runs only once, so it may be sent again here.
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
  /** Waits until the session includes this record, so that its answers are not older than the records that a reader has seen. */
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
 * Asks the node that has the session. Null if no other node has it, or if it is moving from one node to another right now.
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

/** The errors of a node that no longer has the session. The node did nothing. */
export const MOVED: ReadonlySet<string> = new Set(["session_claimed", "session_elsewhere"]);

/**
 * Tries again while a session moves from one node to another. Each failed attempt has done nothing, neither here nor there.
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

/** How often to try again for a session that is moving, and after how long. */
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
    /** Stops following all sessions, also those that are being opened. */
    leave(): void {
      isGone = true;
      for (const session of followed.values()) session.leave();
    },
  };
}

/** Attaches a client to another node's session as soon as that session is loaded here, where it can use what the client lends. */
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
