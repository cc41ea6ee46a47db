/** The end of a session: its log and snapshots go, or only its snapshots while the log stays as a record of what happened. */
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import type { EventStore } from "@chimera/event-store";
import { namedError, SessionError } from "./errors.js";
import type { Loaded } from "./loaded.js";
import type { SessionsDeps } from "./sessions.js";

interface Held {
  readonly snapshots: SessionsDeps["snapshots"] | undefined;
  readonly loaded: Loaded;
  readonly store: EventStore<SessionEvent, Summary>;
  readonly ephemeral: EventStore<SessionEvent, Summary>;
}

/** Runs in the session's lane. */
export async function remove({ loaded, ephemeral, store, snapshots }: Held, id: string): Promise<void> {
  await loaded.unload(id, "close");
  await ephemeral.delete(id);
  await store.delete(id);
  await snapshots?.clear(id);
}

/** Runs in the session's lane. */
export async function tearDown({ loaded, ephemeral, store: stored, snapshots }: Held, id: string): Promise<void> {
  const isPersistent = loaded.find(id)?.persistent ?? true;
  const store = isPersistent ? stored : ephemeral;
  const known = await store.readSummary(id).catch(() => null);
  if (!known || known.closed) throw new SessionError("session_not_found", `there is no session ${id}`);
  await loaded.unload(id, "close");
  // A log in memory went with its session.
  if (!isPersistent) return snapshots?.clear(id);
  // Held meanwhile: another process that has it open still needs its snapshots.
  const writer = await store.open(id).catch((error) => {
    throw namedError(error, id);
  });
  try {
    await store.writeSummary(id, { ...((await store.readSummary(id)) ?? known), closed: true });
    await snapshots?.clear(id);
  } finally {
    await writer.close();
  }
}
