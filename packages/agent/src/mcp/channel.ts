/** How messages travel between us and one MCP server, and how long they may take. */
import { startTimer } from "@chimera/acp-schema/timer";
import { isJsonObject, type JsonObject, parseJson } from "../json.js";

export interface ChannelEvents {
  readonly onMessage: (message: JsonObject) => void;
  /** Called once, when the server is gone. */
  readonly onClose: (reason: string) => void;
}

export interface Channel {
  /** Resolves when the message is on its way; rejects when it cannot be. */
  send(message: JsonObject, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** A larger message ends the connection. */
export const MAX_MESSAGE = 16 * 1024 * 1024;

/**
 * Hands over each object of what arrived; a batch counts as its members, and anything else is ignored: servers print what they should
 * not, and a line that is not JSON is not a message.
 */
export function deliver(text: string, onMessage: ChannelEvents["onMessage"]): void {
  for (const message of [parseJson(text)].flat()) if (isJsonObject(message)) onMessage(message);
}

/** Aborts when any source does. Held by ordinary references: Node 20 may collect `AbortSignal.any` before it fires. */
export function link(...sources: readonly AbortSignal[]): Linked {
  const own = new AbortController();
  const onAbort = () => own.abort(sources.find((source) => source.aborted)?.reason);
  const unlink = () => {
    for (const source of sources) source.removeEventListener("abort", onAbort);
  };
  for (const source of sources) source.addEventListener("abort", onAbort, { once: true });
  if (sources.some((source) => source.aborted)) onAbort();
  return { signal: own.signal, unlink };
}

/** Runs `use` with a signal that also aborts after `ms`, then with a `TimeoutError`. */
export async function withDeadline<T>(
  outer: AbortSignal,
  ms: number,
  use: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const timer = startTimer(ms, () => limit.abort(new DOMException("it took too long", "TimeoutError")));
  const { signal, unlink } = link(outer, limit.signal);
  try {
    return await use(signal);
  } finally {
    timer.stop();
    unlink();
  }
}

// --- internal ---

interface Linked {
  readonly signal: AbortSignal;
  /** Lets go of the sources. */
  unlink(): void;
}
