// Undo and redo in the laid-out home, over HTTP.
import type { AtEnd } from "../program.js";
import { type Server, startServer } from "../server.js";
import { HOME, treeOf, WORK } from "./place.js";
import type { ProgramName } from "./shown.js";

export type RewindCall = { readonly do: "undo" | "redo"; readonly body: object };

/** What a call answered, and the files of the session's workspace after it. */
export interface Rewind extends RewindCall {
  readonly report: object;
  readonly tree: Record<string, string>;
}

export const undo = (body: object = {}): RewindCall => ({ do: "undo", body });
export const redo = (body: object = {}): RewindCall => ({ do: "redo", body });

export const serve = (program: ProgramName, atEnd: AtEnd) =>
  startServer([], {}, { name: program, home: HOME, cwd: `${WORK}/start`, atEnd });

export async function rewindAll(server: Server, id: string, calls: readonly RewindCall[]): Promise<Rewind[]> {
  const { summary } = (await server.ask(`GET /sessions/${id}`)).body;
  const done: Rewind[] = [];
  for (const call of calls) {
    const { body } = await server.ask(`POST /sessions/${id}/${call.do}`, { body: call.body });
    body.files?.sort((a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : 1));
    // The sentence for a person may be worded better; the figures and files that it names are here.
    const { message: _, ...report } = body;
    done.push({ ...call, report, tree: treeOf(summary.cwd) });
  }
  return done;
}
