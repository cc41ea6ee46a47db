/** Suggestions at the caret: a slash command at the beginning, the name of a file after an @. */
import { client } from "../server/client.js";

export interface Suggestion {
  readonly label: string;
  readonly about: string;
  /** The text that replaces the word. */
  readonly insert: string;
  readonly isFolder: boolean;
}

const SHOWN = 12;

export async function suggest(sessionId: string, before: string): Promise<Suggestion[]> {
  const command = /^\/([\w:-]*)$/.exec(before)?.[1];
  if (command !== undefined) return matching(await commandsOf(sessionId), command);
  const file = /(?:^|\s)@([^\s@]*)$/.exec(before)?.[1];
  return file === undefined ? [] : await filesLike(sessionId, file);
}

/** The text with the suggestion in the place of the word before the caret, and where the caret is then. */
export function applySuggestion(text: string, caret: number, { insert, isFolder }: Suggestion) {
  const before = text.slice(0, caret).replace(/[^\s]*$/, insert) + (isFolder ? "" : " ");
  return { text: before + text.slice(caret), caret: before.length };
}

// --- internal ---

const known = new Map<string, Promise<Suggestion[]>>();

/** Read once for a session: they seldom change. */
function commandsOf(sessionId: string): Promise<Suggestion[]> {
  const asked = known.get(sessionId);
  if (asked) return asked;
  const reading = client.call("GET /sessions/{id}/commands", { id: sessionId }).then(({ commands }) =>
    commands.map(({ name, description }) => ({
      label: `/${name}`,
      about: description,
      insert: `/${name}`,
      isFolder: false,
    })),
  );
  known.set(sessionId, reading);
  reading.catch(() => known.delete(sessionId));
  return reading;
}

function matching(all: readonly Suggestion[], start: string): Suggestion[] {
  const wanted = `/${start.toLowerCase()}`;
  return all.filter(({ label }) => label.toLowerCase().startsWith(wanted)).slice(0, SHOWN);
}

async function filesLike(sessionId: string, written: string): Promise<Suggestion[]> {
  const folder = written.slice(0, written.lastIndexOf("/") + 1);
  const start = written.slice(folder.length).toLowerCase();
  const query = folder === "" ? {} : { path: folder };
  const found = await client.call("GET /sessions/{id}/files", { id: sessionId, query });
  if (found.type !== "directory") return [];
  return found.entries
    .filter(({ name }) => name.toLowerCase().startsWith(start))
    .slice(0, SHOWN)
    .map(({ name, type }) => {
      const isFolder = type === "directory";
      const path = `${folder}${name}${isFolder ? "/" : ""}`;
      return { label: path, about: "", insert: `@${path}`, isFolder };
    });
}
