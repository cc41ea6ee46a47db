/** How messages travel between us and one MCP server. */
import { isJsonObject, type JsonObject } from "../json.js";

export interface ChannelEvents {
  readonly onMessage: (message: JsonObject) => void;
  /** The server is gone; told once. */
  readonly onClose: (reason: string) => void;
}

export interface Channel {
  /** Resolves when the message is on its way; rejects when it cannot be. */
  send(message: JsonObject, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** A larger message ends the connection. */
export const MAX_MESSAGE = 16 * 1024 * 1024;

/** Hands over each object of what arrived; a batch counts as its members, and anything else is ignored. */
export function deliver(text: string, onMessage: ChannelEvents["onMessage"]): void {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Servers print what they should not; a line that is no JSON is no message.
    return;
  }
  for (const message of Array.isArray(value) ? value : [value]) {
    if (isJsonObject(message)) onMessage(message);
  }
}
