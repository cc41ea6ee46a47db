/** Sessions as HTTP opens them: loaded when needed, and with somebody there to approve for as long as they live. */
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

/** A session and the token that opens its routes, and no others. */
export interface CreatedSession {
  readonly session: OwnedSession;
  readonly sessionToken: string;
}

/**
 * Makes a session as `POST /session` does. Throws `invalid_cwd`, and what `sessions.create` and `begin` throw.
 *
 * @param giver who the session's token is made for: with their own token it ends too.
 * @param begin what is done with it first. When that fails, the session is deleted again.
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
  /** The live session, or the stored one, loaded. `session_not_found`, `session_claimed`. */
  const opened = async (id: string) => admit(await sessions.load(id));
  return Object.assign(opened, {
    /** Makes a session and begins it. Of one that cannot begin nothing is left: its maker learns no id of it. */
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
    /** An answer may always come over HTTP, so a request is never denied because no approver is connected. */
    admit,
    /** The session, or what its log says of it while another process has it. */
    async read(id: string): Promise<SessionReading> {
      return opened(id).catch((error: unknown) => {
        // Among nodes the one that has it answers.
        if (peers || !isSessionError(error) || error.code !== "session_claimed") throw error;
        return sessions.read(id);
      });
    },
    /** Throws `session_not_found` unless there is a session, live or stored, that was not torn down. */
    async require(id: string) {
      if (sessions.find(id)) return;
      const summary = await sessions.logs.readSummary(id).catch(() => null);
      if (!summary || summary.closed) throw notFound(id);
    },
    /** Throws `session_claimed` when another node has the session; without other nodes nobody looks. */
    async requireHere(id: string) {
      if (sessions.find(id) || !(await peers?.isElsewhere(id))) return;
      const cause = new StoreError("claimed", `session ${id} is open at another node`);
      throw new SessionError("session_claimed", cause.message, { cause, sessionId: id });
    },
    /** Throws `session_not_found` unless there is a log: that of a session torn down stays. */
    async requireLog(id: string) {
      if (!sessions.find(id) && !(await sessions.logs.has(id))) throw notFound(id);
    },
  });
}

// --- internal ---

function notFound(id: string): SessionError {
  return new SessionError("session_not_found", `there is no session ${id}`);
}
