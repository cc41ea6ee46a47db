/** The stored sessions, to be read: no core, no claim, nothing written. */
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createFileStore, type EventStore, isStoreError } from "@chimera/event-store";
import { type Invocation, type Paths, resolvePaths } from "@chimera/host";
import { sessionSummaries } from "@chimera/session";
import { CliError } from "./errors.js";

export type SessionStore = EventStore<SessionEvent, Summary>;

export function openStore({ profile, process }: Invocation): { readonly store: SessionStore; readonly paths: Paths } {
  const paths = resolvePaths(process.env);
  const store = createFileStore<SessionEvent, Summary>({
    root: paths.root,
    program: profile.name,
    summaries: sessionSummaries,
  });
  return { paths, store };
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
