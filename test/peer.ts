// A client that writes and reads frames as they are, without a library between.
import { once } from "node:events";
import { createInterface } from "node:readline";
import { type Program, startProgram } from "./program.js";

export interface Frame {
  readonly jsonrpc: "2.0";
  readonly id?: number | string | null;
  readonly method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: a frame is whatever arrived; each test says what it expects of it.
  readonly params?: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface Peer {
  readonly program: Program;
  /** Every frame that arrived, in order. */
  readonly frames: Frame[];
  /** Sends a request and gives the whole answer. */
  request(method: string, params?: unknown): Promise<Frame>;
  /** Sends a line unchanged. */
  line(text: string): void;
  /** The first frame that fits, of those that came and those that come. */
  find(fits: (frame: Frame) => boolean): Promise<Frame>;
}

/** A program that speaks its native dialect, shaken hands with. */
export async function nativePeer(name: "otter" | "ferret", env: Record<string, string> = {}): Promise<Peer> {
  const peer = connect(startProgram(name, ["serve", "--acp"], env));
  await peer.request("initialize", {});
  return peer;
}

export function connect(program: Program): Peer {
  const frames: Frame[] = [];
  const lines = createInterface({ input: program.child.stdout });
  lines.on("line", (line) => frames.push(JSON.parse(line)));
  let lastId = 0;

  const line = (text: string) => void program.child.stdin.write(`${text}\n`);
  const find = async (fits: (frame: Frame) => boolean) => {
    for (let seen = 0; ; ) {
      const found = frames.slice(seen).find(fits);
      if (found) return found;
      seen = frames.length;
      await once(lines, "line");
    }
  };
  const request = (method: string, params?: unknown) => {
    const id = ++lastId;
    line(JSON.stringify({ jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) }));
    return find((frame) => frame.id === id && frame.method === undefined);
  };
  return { program, frames, request, line, find };
}

/** The updates of one session so far, with their event ids. */
export function updatesOf(peer: Peer, sessionId: string): Frame[] {
  return peer.frames.filter((frame) => frame.method === "session/update" && frame.params.sessionId === sessionId);
}
