/** Opens the stored sessions for reading, without a core and without claims. */
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { type EventStore, isSessionId, isStoreError } from "@chimera/event-store";
import { type Invocation, type Paths, readConfig } from "@chimera/host";
import { openStorage, type Storage } from "@chimera/host/storage";
import { CliError } from "./errors.js";

export type SessionStore = EventStore<SessionEvent, Summary>;

export type OpenStore = Storage & { readonly paths: Paths };

/** Opens the store of the settings, or the one at an address, runs the work, and closes the store. */
export async function withStore<T>(
  invocation: Invocation,
  work: (opened: OpenStore) => Promise<T>,
  address?: string,
): Promise<T> {
  const { paths, values } = readConfig(invocation);
  const storage = await openStorage({ paths, values, program: invocation.profile.name, ...(address && { address }) });
  try {
    return await work({ paths, ...storage });
  } finally {
    await storage.store.close();
  }
}

/** Fewer characters of an id could easily match another session. */
const SHORTEST = 4;

/**
 * The id that a person means: a whole id, or the beginning or the end of exactly one. An id that matches nothing stays unchanged, so
 * that the lookup reports the missing session.
 */
export async function meantId(store: Pick<SessionStore, "list">, typed: string): Promise<string> {
  return chosenId(typed, async () => (await store.list()).sessions.map(({ id }) => id));
}

/** The same for a given list of ids. */
export async function chosenId(typed: string, list: () => Promise<readonly string[]>): Promise<string> {
  const isWhole: boolean = isSessionId(typed);
  const ids = isWhole ? [typed] : await list();
  if (ids.includes(typed) || typed.length < SHORTEST) return typed;
  const fits = ids.filter((id) => id.startsWith(typed) || id.endsWith(typed));
  if (fits.length > 1) {
    const more = fits.length > 3 ? ` and ${fits.length - 3} more` : "";
    throw new CliError("not_found", `${typed} fits ${fits.length} sessions: ${fits.slice(0, 3).join(", ")}${more}`);
  }
  return fits[0] ?? typed;
}

/** The summary of a session. Throws `not_found` without one. */
export async function requireSummary(store: Pick<SessionStore, "readSummary">, id: string): Promise<Summary> {
  const summary = await store.readSummary(id).catch((error: unknown) => {
    if (isStoreError(error) && error.code === "invalid_id") return null;
    throw error;
  });
  if (summary !== null) return summary;
  throw new CliError("not_found", `there is no session ${id}`);
}
