/** How messages travel between us and one MCP server. */
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
