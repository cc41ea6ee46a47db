/** The sessions of one native connection: which it has open, and from which update on each is shown. */
import type { Session } from "@chimera/session";
import type { Engine } from "../context.js";
import type { DialectContext } from "../dialect.js";
import type { NativeProjection } from "../project/native.js";
import { type NativeView, nativeView } from "./view.js";

export interface Found {
  readonly engine: Engine;
  readonly session: Session;
}

/** A place in the log, and how many updates are up to it. */
export interface Place {
  readonly seq: number;
  readonly shown: number;
}

export function createConnectionSessions({ engine, open }: DialectContext, projection: NativeProjection) {
  const views = new WeakMap<Session, NativeView>();
  const headOf = (session: Session): Place => ({
    seq: session.lastSeq,
    shown: session.history.count(projection.types),
  });
  const viewFrom = (shown: number) => (session: Session) => {
    const view = nativeView(session, projection, shown);
    views.set(session, view);
    return view;
  };
  /** Updates of a session, from its head or from after a place, for as long as it is open here. */
  const show = (session: Session, { seq, shown }: Place = headOf(session)): void =>
    open.open(session, viewFrom(shown), { from: seq, again: (reloaded) => show(reloaded) });
  const find = async (id: string): Promise<Found> => {
    const running = await engine();
    return { engine: running, session: await running.sessions.load(id) };
  };

  return {
    show,
    /** A session, brought to life when it is only stored; nothing of it is shown yet. */
    find,
    /** The same, shown from its head unless it is open here already. */
    async open(id: string): Promise<Found> {
      const found = await find(id);
      show(found.session);
      return found;
    },
    /** From here on the client gets camelCase notifications for this session. */
    useTurnNotifications: (session: Session) => views.get(session)?.useTurnNotifications(),
  };
}
