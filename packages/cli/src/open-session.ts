/** Which session a person means: a new one, one by its id, or the last one of this directory. */
import type { RunningEngine } from "@chimera/host";
import type { Session } from "@chimera/session";
import { CliError } from "./errors.js";

export interface SessionChoice {
  readonly cwd: string;
  readonly resume?: string;
  readonly last: boolean;
  readonly persist: boolean;
  /** Also for a resumed session, which otherwise keeps its own. */
  readonly model?: string;
  readonly title?: string;
}

export async function openSession({ sessions }: RunningEngine, choice: SessionChoice): Promise<Session> {
  const { cwd, persist, model, title } = choice;
  const id = choice.resume ?? (choice.last ? await lastIn(sessions, cwd) : undefined);
  const session = id === undefined ? await sessions.create({ cwd, persist }) : await sessions.load(id);
  if (model && session.settings.model !== model) session.setModel(model);
  if (title?.trim()) session.setTitle(title.trim());
  return session;
}

// --- internal ---

async function lastIn(sessions: RunningEngine["sessions"], cwd: string): Promise<string> {
  let after: string | undefined;
  do {
    const page = await sessions.list({ order: "created", limit: 100, ...(after !== undefined && { after }) });
    const found = page.sessions.find(({ summary }) => summary.cwd === cwd);
    if (found) return found.id;
    after = page.next ?? undefined;
  } while (after !== undefined);
  throw new CliError("not_found", `there is no session of ${cwd} to continue`);
}
