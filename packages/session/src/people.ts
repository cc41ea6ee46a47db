/** Limits the sessions of a process to those that one person may see and change. Every handler that works for a person gets only these. */
import { isLost, type SessionEvent } from "@chimera/acp-schema/events";
import type { LogEntry, Subscription } from "@chimera/event-store";
import { notFound, SessionError } from "./errors.js";
import { accessOf, type Person, type Seen } from "./person.js";
import type { OwnedSession, Session, SessionClient } from "./session.js";
import type { Sessions } from "./sessions.js";

/**
 * The sessions that a person may see. The person owns the sessions that they make, and their name is on the records of what they do. Throws
 * `session_not_found` for a session that they may not see, and `read_only` for one that they may not change.
 *
 * @example
 * const theirs = sessionsFor(sessions, { name: "ada", role: "viewer" });
 */
export function sessionsFor(sessions: Sessions, person: Person | undefined): Sessions {
  if (!person) return sessions;
  const { name, role } = person;
  const rights = createRights(sessions, person);
  const { access, ofLoaded, requireWrite } = rights;
  const wrapped = new WeakMap<OwnedSession, OwnedSession>();
  const bounded = role === "user" ? { visibleTo: name } : {};
  const writing = (act: (id: string) => Promise<void>) => async (id: string) => {
    await requireWrite(id);
    return act(id);
  };
  const wrap = (session: OwnedSession): OwnedSession => {
    const known = wrapped.get(session) ?? asPerson(session, person, () => ofLoaded(session));
    wrapped.set(session, known);
    return known;
  };
  const visible = (session: OwnedSession | undefined) => (session && ofLoaded(session) ? wrap(session) : undefined);
  const opened = (session: OwnedSession): OwnedSession => {
    const found = visible(session);
    if (!found) throw notFound(session.id);
    return found;
  };

  return {
    ...sessions,
    logs: logsFor(sessions, person, rights),
    async create(options) {
      if (role === "viewer") throw readOnly(person);
      return wrap(await sessions.create({ ...options, owner: name }));
    },
    async load(id) {
      await access(id);
      return opened(await sessions.load(id));
    },
    async read(id) {
      await access(id);
      return sessions.read(id);
    },
    async loadVisible(id) {
      await access(id);
      const loaded = await sessions.loadVisible(id);
      return { ...loaded, session: opened(loaded.session) };
    },
    find: (id) => visible(sessions.find(id)),
    live: () => sessions.live().flatMap((session) => visible(session) ?? []),
    list: (options) => sessions.list({ ...options, ...bounded }),
    listAll: (options) => sessions.listAll({ ...options, ...bounded }),
    async fork(id, options) {
      await requireWrite(id);
      return wrap(await sessions.fork(id, { ...options, owner: name }));
    },
    close: writing(sessions.close),
    tearDown: writing(sessions.tearDown),
    settle: writing(sessions.settle),
    delete: writing(sessions.delete),
    attach(id, client) {
      const session = sessions.find(id);
      const may = session && ofLoaded(session);
      if (!may) throw notFound(id);
      return sessions.attach(id, may === "write" ? client : asReader(client));
    },
    clients: (id) => (visible(sessions.find(id)) ? sessions.clients(id) : []),
    onLoad: (listener) => sessions.onLoad((session) => void (visible(session) && listener(wrap(session)))),
    onRemove: (listener) =>
      sessions.onRemove((id, last) => {
        if (last && accessOf(person, last)) listener(id, last);
      }),
    quota: {
      ...sessions.quota,
      use: () => sessions.quota.use(name),
      requireStream: () => sessions.quota.requireStream(name),
    },
    // A person can neither drain nor shut down the process.
    drain() {},
    shutdown: async () => {},
  };
}

/** The position of the argument `origin`, which names the caller, in each method that has one. */
const ORIGIN_AT = { answer: 2, answerQuestion: 2, set: 1, setTitle: 1, share: 1, clear: 0 } as const;
type Signed = keyof typeof ORIGIN_AT;
/** The methods of a session that record who called them. */
export const SIGNED = Object.keys(ORIGIN_AT) as Signed[];

/** The session as one client uses it: calls without an origin get this one. */
export function withOrigin<S extends Session>(session: S, origin: string | undefined): S {
  const named = SIGNED.map((method) => {
    const at = ORIGIN_AT[method];
    const call = session[method] as (...args: unknown[]) => Promise<void>;
    const value = async (...args: unknown[]) => {
      args[at] ??= origin;
      return call(...args);
    };
    return [method, { value }] as const;
  });
  const rewinding = (rewind: Session["undo"]): { value: Session["undo"] } => ({
    value: (options) => rewind({ ...options, origin: options?.origin ?? origin }),
  });
  return Object.create(session, {
    ...Object.fromEntries(named),
    undo: rewinding(session.undo),
    redo: rewinding(session.redo),
  });
}

// --- internal ---

type Rights = ReturnType<typeof createRights>;

/** Decides what the person may do with each session. */
function createRights(sessions: Sessions, person: Person) {
  const ofLoaded = (session: OwnedSession) => accessOf(person, seen(session));
  /** Throws `session_not_found`. */
  const access = async (id: string): Promise<"write" | "read"> => {
    const here = sessions.find(id);
    const summary = here ? seen(here) : await sessions.logs.readSummary(id);
    const may = summary && accessOf(person, summary);
    if (may) return may;
    throw notFound(id);
  };
  return {
    ofLoaded,
    access,
    /** Throws `session_not_found`, `read_only`. */
    async requireWrite(id: string): Promise<void> {
      if ((await access(id)) !== "write") throw readOnly(person);
    },
  };
}

/** The logs that the person may read. A reader's stream ends when its session is no longer shared with the person. */
function logsFor({ logs, find }: Sessions, person: Person, { access }: Rights): Sessions["logs"] {
  return {
    async *read(id, range) {
      await access(id);
      yield* logs.read(id, range);
    },
    has: async (id) => (await logs.has(id)) && access(id).then(Boolean, () => false),
    async lastSeq(id) {
      await access(id);
      return logs.lastSeq(id);
    },
    async readSummary(id) {
      const summary = await logs.readSummary(id);
      return summary && accessOf(person, find(id)?.summary() ?? summary) ? summary : null;
    },
    follow(id, options, reader) {
      const stop = new AbortController();
      const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
      const open = () =>
        logs.follow(id, { ...options, signal }, (batch, position) => {
          if (person.role !== "user" || !batch.some(endsSharing)) return reader(batch, position);
          return access(id).then(
            () => reader(batch, position),
            () => stop.abort(),
          );
        });
      return later(access(id).then(open), options.from);
    },
  };
}

/** The client of a person who may only read. It is not asked for permissions, and lends nothing. */
function asReader({ transport, name, absent = false }: SessionClient): SessionClient {
  return { ...(transport !== undefined && { transport }), name, absent, approves: false };
}

function seen({ owner, isShared }: OwnedSession): Seen {
  return { ...(owner !== null && { owner }), shared: isShared };
}

function readOnly({ name, role }: Person): SessionError {
  const why = role === "viewer" ? "has the role viewer" : "does not own this session";
  return new SessionError("read_only", `${name} ${why}, and may only read`);
}

/** The session as one person uses it: checks their rights, and puts their name on records. */
function asPerson(session: OwnedSession, person: Person, access: () => "write" | "read" | null): OwnedSession {
  const { name } = person;
  const theirs = withOrigin(session, name);
  const asked = <A extends unknown[], R>(act: (...args: A) => R) => ({
    value: (...args: A): R => {
      if (access() !== "write") throw readOnly(person);
      return act(...args);
    },
  });
  const named = SIGNED.map((method) => [method, asked(theirs[method] as () => unknown)]);
  const own = {
    ...Object.fromEntries(named),
    isReadOnly: { get: () => access() !== "write" },
    prompt: asked<Parameters<OwnedSession["prompt"]>, ReturnType<OwnedSession["prompt"]>>((input) =>
      session.prompt({ ...input, origin: input.origin ?? name, sender: person }),
    ),
    cancel: asked(session.cancel),
    undo: asked(theirs.undo),
    redo: asked(theirs.redo),
    notify: asked(session.notify),
    record: asked(session.record),
    close: asked(session.close),
  };
  return Object.create(session, own) as OwnedSession;
}

function endsSharing(entry: LogEntry<SessionEvent>): boolean {
  return !isLost(entry) && entry.event.type === "sharing_changed" && !entry.event.metadata.shared;
}

/** A subscription that begins when `opening` resolves, after the person's right to read was checked. */
function later(opening: Promise<Subscription>, from: number | "live"): Subscription {
  let inner: Subscription | null = null;
  let isClosed = false;
  const ended = opening.then((subscription) => {
    inner = subscription;
    if (isClosed) subscription.close();
    return subscription.ended;
  });
  return {
    get cursor() {
      return inner?.cursor ?? (from === "live" ? 0 : from);
    },
    ended,
    close() {
      isClosed = true;
      inner?.close();
    },
  };
}
