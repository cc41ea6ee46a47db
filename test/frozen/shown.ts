// What each transport shows of a stored session, as the bytes that came: the three ways in which a log is replayed.
import { startEditor } from "../editor.js";
import { connect, type Peer } from "../peer.js";
import { type AtEnd, type Program, startProgram } from "../program.js";
import { startServer } from "../server.js";
import { HOME, WORK } from "./place.js";

export type ProgramName = "otter" | "ferret";

/** What a way of replaying shows of one session. */
export type Show<T> = (id: string) => Promise<T>;

/** `GET /sessions/{id}/events` up to its end. A log that stops in the middle of a turn gets the end of it first. */
export async function streams(name: ProgramName, atEnd: AtEnd): Promise<Show<string>> {
  const { address } = await startServer([], {}, { ...PLACED, name, atEnd });
  return async (id) => {
    const response = await fetch(`${address}/sessions/${id}/events`);
    if (response.status !== 200) throw new Error(`the events of ${id}: ${response.status} ${await response.text()}`);
    return response.text();
  };
}

/** The updates of `session/load` in standard ACP that show records, with their numbers. */
export async function loads(name: ProgramName, atEnd: AtEnd): Promise<Show<string[]>> {
  const clientCapabilities = { session: { notices: {}, compaction: {} } };
  const editor = await startEditor({ ...PLACED, name, atEnd, clientCapabilities });
  return async (sessionId) => {
    const lines = await linesDuring(editor, "session/load", { sessionId, cwd: PLACED.cwd, mcpServers: [] });
    await editor.request("session/close", { sessionId });
    return lines.filter((line) => line.includes(EVENT_ID) && !line.includes('"config_option_update"'));
  };
}

/** The updates of `session/resume` in the native dialect, from the first on, with their event ids. */
export async function resumes(name: ProgramName, atEnd: AtEnd): Promise<Show<string[]>> {
  const args = ["serve", "--acp", "--acp-history", "100000"];
  const native = connect(startProgram(name, args, {}, { ...PLACED, atEnd }));
  await native.request("initialize", {});
  return async (sessionId) => {
    const lines = await linesDuring(native, "session/resume", { sessionId, sinceEventId: 0 });
    return lines.filter((line) => line.includes('"method":"session/update"'));
  };
}

/** The number of the record that a line of standard ACP shows. */
export function seqOf(line: string): number {
  return JSON.parse(line).params._meta["chimera.dev/eventId"];
}

/** The number of a frame of a stream; undefined for one without. */
export function idOf(frame: string): number | undefined {
  const id = /^id: (\d+)$/m.exec(frame)?.[1];
  return id === undefined ? undefined : Number(id);
}

/** The frames of a stream as they came, their ends with them. */
export const framesOf = (stream: string): string[] => stream.split(/(?<=\n\n)/);

// --- internal ---

const PLACED = { home: HOME, cwd: `${WORK}/start` };
const EVENT_ID = '"chimera.dev/eventId":';

/** Every line that a program writes from a request up to its answer. */
async function linesDuring(peer: Peer, method: string, params: object): Promise<string[]> {
  let text = "";
  const { stdout }: Program["child"] = peer.program.child;
  const take = (chunk: Buffer) => {
    text += chunk.toString("latin1");
  };
  stdout.on("data", take);
  const { error } = await peer.request(method, params);
  stdout.off("data", take);
  if (error) throw new Error(`${method} ${JSON.stringify(params)}: ${JSON.stringify(error)}`);
  return Buffer.from(text, "latin1").toString("utf8").split("\n").slice(0, -1);
}
