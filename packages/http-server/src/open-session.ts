/** Opens sessions for HTTP: loads them when needed, and keeps their permission requests open, because an answer may come at any time. */
import { StoreError } from "@chimera/event-store";
import {
  type CreateOptions,
  isSessionError,
  type OwnedSession,
  SessionError,
  type SessionReading,
  type Sessions,
} from "@chimera/session";
import type { Giver } from "./auth/token.js";
import type { AppDeps } from "./deps.js";

export type OpenSession = ReturnType<typeof createOpenSession>;

/** A session and its token, which opens the routes of this session only. */
export interface CreatedSession {
  readonly session: OwnedSession;
  readonly sessionToken: string;
}

/**
 * Makes a session as `POST /session` does. Throws `invalid_cwd`, and what `sessions.create` and `begin` throw.
 *
 * @param giver the caller for whom the session's token is made. The token ends with the giver's own token.
 * @param begin runs first on the new session. If it fails, the session is deleted again.
 */
export type CreateSession = (options?: Partial<CreateOptions>, giver?: Giver, begin?: Begin) => Promise<CreatedSession>;

type Begin = (session: OwnedSession) => Promise<unknown>;

export function createOpenSession(sessions: Sessions, { peers, log }: Pick<AppDeps, "peers" | "log">) {
  const attached = new WeakSet<OwnedSession>();
  const admit = (session: OwnedSession) => {
    if (attached.has(session)) return session;
    attached.add(session);
    const { detach } = sessions.attach(session.id, { approves: true, absent: true });
    void session.ended.then(detach);
    return session;
  };
  /** The session, which is loaded if necessary. Throws `session_not_found`, `session_claimed`. */
  const opened = async (id: string) => admit(await sessions.load(id));
  /**
   * The ways to a session, by what a route does:
   * - it changes the session: `openSession(id)`;
   * - it reads the session's state: `.read`;
   * - it reads or deletes the log and does not load the session: first `.requireLog`;
   * - it tears the session down: first `.require`. Before this and before a deletion also `.requireHere`;
   * - it makes a session: `.make`, and in its `begin` `.admit` if clients may answer the session's questions.
   */
  return Object.assign(opened, {
    /** Makes a session and calls `begin` on it. If that fails, deletes the session, because the caller never learns its id. */
    async make(options: CreateOptions, begin: Begin): Promise<OwnedSession> {
      const session = await sessions.create(options);
      try {
        await begin(session);
        return session;
      } catch (error) {
        await sessions.delete(session.id).catch((cause: unknown) => {
          log?.("a session that could not begin is left over", { session: session.id, error: String(cause) });
        });
        throw error;
      }
    },
    /** Keeps the session's permission requests open. Otherwise they would be denied while no approver is connected. */
    admit,
    /** The session, for reading. If another process has it, its state is read from its log. */
    async read(id: string): Promise<SessionReading> {
      return opened(id).catch((error: unknown) => {
        // With other nodes, the node that has the session answers.
        if (peers || !isSessionError(error) || error.code !== "session_claimed") throw error;
        return sessions.read(id);
      });
    },
    /** Throws `session_not_found` if there is no such session, or if it was torn down. */
    async require(id: string) {
      if (sessions.find(id)) return;
      const summary = await sessions.logs.readSummary(id).catch(() => null);
      if (!summary || summary.closed) throw notFound(id);
    },
    /** Throws `session_claimed` if another node has the session. Does nothing without other nodes. */
    async requireHere(id: string) {
      if (sessions.find(id) || !(await peers?.isElsewhere(id))) return;
      const cause = new StoreError("claimed", `session ${id} is open at another node`);
      throw new SessionError("session_claimed", cause.message, { cause, sessionId: id });
    },
    /** Throws `session_not_found` if there is no log. A session that was torn down still has its log. */
    async requireLog(id: string) {
      if (!sessions.find(id) && !(await sessions.logs.has(id))) throw notFound(id);
    },
  });
}

// --- internal ---

function notFound(id: string): SessionError {
  return new SessionError("session_not_found", `there is no session ${id}`);
}
