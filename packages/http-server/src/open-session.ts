/** Sessions as HTTP opens them: loaded when needed, and with somebody there to approve for as long as they live. */
import { type CreateOptions, type Session, SessionError, type Sessions } from "@chimera/session";

export interface OpenSession {
  /** The live session, or the stored one, loaded. `session_not_found`, `session_claimed`. */
  (id: string): Promise<Session>;
  /** Somebody may always come to answer over HTTP, so a request is never denied for want of an approver. */
  admit(session: Session): Session;
  /** Throws `session_not_found` unless there is a session, live or stored, that was not torn down. */
  require(id: string): Promise<void>;
  /** The same, when a log is enough: that of a session torn down stays. */
  requireLog(id: string): Promise<void>;
}

/** A session and the token that opens its routes, and no others. */
export interface CreatedSession {
  readonly session: Session;
  readonly sessionToken: string;
}

/**
 * Makes a session as `POST /session` does, in `defaultCwd` unless a directory is named. Throws an HttpError `invalid_cwd` for one that
 * is not there, and what `sessions.create` throws.
 */
export type CreateSession = (options?: Partial<CreateOptions>) => Promise<CreatedSession>;

export function createOpenSession(sessions: Sessions): OpenSession {
  const approved = new WeakSet<Session>();
  const admit = (session: Session) => {
    if (!approved.has(session)) {
      approved.add(session);
      session.attach({ approves: true, absent: true });
    }
    return session;
  };
  return Object.assign(async (id: string) => admit(await sessions.load(id)), {
    admit,
    async require(id: string) {
      if (sessions.find(id)) return;
      const summary = await sessions
        .storeOf(id)
        .readSummary(id)
        .catch(() => null);
      if (!summary || summary.closed) throw notFound(id);
    },
    async requireLog(id: string) {
      if (!sessions.find(id) && !(await sessions.storeOf(id).has(id))) throw notFound(id);
    },
  });
}

// --- internal ---

function notFound(id: string): SessionError {
  return new SessionError("session_not_found", `there is no session ${id}`);
}
