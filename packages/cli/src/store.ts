/** The stored sessions, to be read: no core, no claim, nothing written. */
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { type EventStore, isStoreError } from "@chimera/event-store";
import { type Invocation, type Paths, readConfig } from "@chimera/host";
import { openStorage, type Storage } from "@chimera/host/storage";
import { CliError } from "./errors.js";

export type SessionStore = EventStore<SessionEvent, Summary>;

/** From the setting, or from an address in its place. The caller closes the store. */
export async function openStore(
  invocation: Invocation,
  address?: string,
): Promise<Storage & { readonly paths: Paths }> {
  const { paths, values } = readConfig(invocation);
  const storage = await openStorage({ paths, values, program: invocation.profile.name, ...(address && { address }) });
  return { paths, ...storage };
}

/** The summary of a session that must be there. */
export async function requireSummary(store: SessionStore, id: string): Promise<Summary> {
  const summary = await store.readSummary(id).catch((error: unknown) => {
    if (isStoreError(error) && error.code === "invalid_id") return null;
    throw error;
  });
  if (summary !== null) return summary;
  const known = await store.has(id).catch(() => false);
  throw new CliError(
    "not_found",
    known ? `session ${id} has neither a summary nor a log` : `there is no session ${id}`,
  );
}
