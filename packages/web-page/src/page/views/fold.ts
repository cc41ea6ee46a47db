import { type ReadonlySignal, useComputed } from "@preact/signals";
import type { OpenedSession } from "../session/opened.js";

/** What a view reads of a session, read again whenever the session has changed. */
export function useFold<T>(session: OpenedSession, read: (session: OpenedSession) => T): ReadonlySignal<T> {
  return useComputed(() => {
    session.changed.value;
    return read(session);
  });
}
