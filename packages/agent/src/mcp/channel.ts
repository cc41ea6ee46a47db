/** Carries messages between this process and one MCP server. */
import { isJsonObject, type JsonObject, parseJson } from "../json.js";

export interface ChannelEvents {
  readonly onMessage: (message: JsonObject) => void;
  /** Called once, when the connection has ended. */
  readonly onClose: (reason: string) => void;
}

export interface Channel {
  /** Resolves when the message has been handed to the transport; rejects when that fails. */
  send(message: JsonObject, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Most bytes in a message. A larger one ends the connection. */
export const MAX_MESSAGE = 16 * 1024 * 1024;

/**
 * Passes on each object in a received text. A batch yields its members. Anything else is ignored, because some servers print other
 * lines to the same stream.
 */
export function deliver(text: string, onMessage: ChannelEvents["onMessage"]): void {
  for (const message of [parseJson(text)].flat()) if (isJsonObject(message)) onMessage(message);
}
