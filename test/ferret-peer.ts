// ferret as a plugin sees it: its native dialect, with a model that follows a script.
import { join } from "node:path";
import { connect, type Frame, type Peer, updatesOf } from "./peer.js";
import { startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";

/** What the model does in one turn: a tool call each, then it stops. */
export type ScriptedTurn = readonly { readonly call: string; readonly args: Record<string, unknown> }[];

export interface FerretPeer extends Peer {
  readonly sessionId: string;
  /** Sends a prompt; what the model answers is the script's. */
  prompt(text?: string): Promise<Frame>;
  /** The payloads of one kind so far. */
  // biome-ignore lint/suspicious/noExplicitAny: each test says what it expects of a payload.
  kind(name: string): any[];
  /** Sends a request that belongs to the session. */
  ask(method: string, params?: object): Promise<Frame>;
}

/** Starts `ferret serve` with these flags, shakes hands and opens a session. */
export async function ferretPeer(
  args: readonly string[],
  turns: readonly ScriptedTurn[] = [],
  env: Record<string, string> = {},
): Promise<FerretPeer> {
  const script = join(scratchTree({ "script.json": scriptOf(turns) }), "script.json");
  const model = turns.length > 0 ? ["--model", `scripted:${script}`] : [];
  const peer = connect(startProgram("ferret", ["serve", ...model, ...args], env));
  await peer.request("initialize", {});
  const { result, error } = await peer.request("session/new", {});
  if (error) throw new Error(error.message);
  const { sessionId } = result;
  return {
    ...peer,
    sessionId,
    prompt: (text = "go on") => peer.request("session/message", { sessionId, message: text }),
    kind: (name) => updatesOf(peer, sessionId).flatMap(({ params }) => (params.kind === name ? [params] : [])),
    ask: (method, params = {}) => peer.request(method, { sessionId, ...params }),
  };
}

// --- internal ---

function scriptOf(turns: readonly ScriptedTurn[]): object {
  const usage = { usage: { input: 10, output: 5, cacheRead: 2, reasoning: 1 } };
  return {
    price: { input: 1, output: 2 },
    turns: turns.map((calls) => ({
      steps: [
        ...calls.map((call) => ({ reply: [{ text: "Working. " }, call, usage] })),
        { reply: [{ text: "Done." }, usage] },
      ],
    })),
  };
}
