/** An MCP server over streamable HTTP: each message is a POST request. The server answers with JSON or a stream of events. */
import type { McpServer } from "@chimera/acp-schema/agent";
import { createParser } from "eventsource-parser";
import { AgentError } from "../errors.js";
import { isJsonObject, type JsonObject } from "../json.js";
import { link } from "../loop/patience.js";
import { type Channel, type ChannelEvents, deliver, MAX_MESSAGE } from "./channel.js";

export function openHttpChannel(server: Extract<McpServer, { type: "http" | "sse" }>, events: ChannelEvents): Channel {
  const own = new AbortController();
  let session: string | null = null;
  let version: string | null = null;
  const onMessage = (message: JsonObject) => {
    version ??= agreedVersion(message);
    events.onMessage(message);
  };
  const headers = (): Record<string, string> => ({
    ...server.headers,
    accept: "application/json, text/event-stream",
    ...(session !== null && { "mcp-session-id": session }),
    ...(version !== null && { "mcp-protocol-version": version }),
  });
  // Follow no redirect: the credentials in the headers are for this address only.
  const call = (init: RequestInit) => fetch(server.url, { ...init, redirect: "error" });
  const accepted = async (message: JsonObject, signal: AbortSignal): Promise<Response> => {
    const sent = { ...headers(), "content-type": "application/json" };
    const init = { method: "POST", headers: sent, body: JSON.stringify(message), signal };
    const response = await call(init).catch((error: Error) => {
      signal.throwIfAborted();
      throw unreachable(server.name, error);
    });
    if (response.status === 404 && session !== null) events.onClose("it forgot the session");
    if (!response.ok) {
      await response.body?.cancel();
      const status = `${response.status} ${response.statusText}`.trim();
      throw new AgentError("mcp_connect", `The MCP server ${server.name} answered ${status}`);
    }
    session ??= response.headers.get("mcp-session-id");
    return response;
  };
  return {
    send: async (message, signal) => {
      const linked = link(own.signal, signal);
      const response = await accepted(message, linked.signal).catch((error: unknown) => {
        linked.unlink();
        throw error;
      });
      // The sender does not wait for the end of a long answer: the reply arrives as a message.
      void receive(response, onMessage)
        .finally(linked.unlink)
        .then(
          // Without a reply in the answer the caller of a request would wait for its time limit. After a reply this has no effect.
          () => isRequest(message) && onMessage({ id: message["id"], error: { message: "the answer held no reply" } }),
          (error: unknown) => {
            if (!signal.aborted && !own.signal.aborted) events.onClose((error as Error).message);
          },
        );
    },
    close: async () => {
      if (session !== null) {
        await call({ method: "DELETE", headers: headers(), signal: AbortSignal.timeout(1000) }).then(
          (response) => response.body?.cancel(),
          () => {},
        );
      }
      own.abort();
    },
  };
}

// --- internal ---

/** The error of `fetch` says only that it failed, so take the reason from its cause. */
function unreachable(name: string, error: Error): AgentError {
  const { cause, message } = error;
  const reason = (cause instanceof Error && cause.message) || message;
  return new AgentError("mcp_connect", `The MCP server ${name} cannot be reached: ${reason}`, { cause: error });
}

/** A notification has no id. What answers a request of the server has an id that the server chose, which a pending call may have too. */
function isRequest(message: JsonObject): boolean {
  return message["method"] !== undefined && message["id"] !== undefined;
}

/** The reply to the handshake names the version that every later request must carry. */
function agreedVersion({ result }: JsonObject): string | null {
  const version = isJsonObject(result) ? result["protocolVersion"] : undefined;
  return typeof version === "string" ? version : null;
}

async function receive(response: Response, onMessage: ChannelEvents["onMessage"]): Promise<void> {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  const parser = createParser({ onEvent: ({ data }) => deliver(data, onMessage) });
  const decoder = new TextDecoder();
  const whole: string[] = [];
  let size = 0;
  for await (const bytes of response.body ?? []) {
    const text = decoder.decode(bytes, { stream: true });
    size += text.length;
    if (size > MAX_MESSAGE) throw new AgentError("mcp_call", "the answer is too large");
    if (isStream) parser.feed(text);
    else whole.push(text);
  }
  if (!isStream && size > 0) deliver(whole.join(""), onMessage);
}
