/** Anthropic's stream of events, read into model events. */
import type { AgentError } from "../../errors.js";
import type { ModelEvent, ModelStop, Usage } from "../model.js";
import { providerError } from "../sse.js";
import { asText, type WireReader } from "../wire-reader.js";

interface WireEvent {
  type?: string;
  index?: number;
  message?: { usage?: WireUsage };
  content_block?: { type?: string; id?: string; name?: string; text?: string; input?: unknown; data?: string };
  delta?: {
    type?: string;
    text?: string;
    thinking?: string;
    signature?: string;
    partial_json?: string;
    stop_reason?: string | null;
  };
  usage?: WireUsage;
  error?: { type?: string; message?: string };
}

interface WireUsage {
  input_tokens?: number | null;
  output_tokens?: number | null;
  cache_read_input_tokens?: number | null;
  cache_creation_input_tokens?: number | null;
}

interface OpenBlock {
  readonly type: string;
  readonly id: string;
  readonly name: string;
  text: string;
  signature: string;
  readonly whole: unknown;
}

const STOPS: ReadonlyMap<string, ModelStop> = new Map([
  ["tool_use", "calls"],
  ["max_tokens", "max_tokens"],
  ["model_context_window_exceeded", "max_tokens"],
  ["refusal", "refusal"],
]);

export function createAnthropicReader(): WireReader {
  const open = new Map<number, OpenBlock>();
  let usage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
  let stop: ModelStop | undefined;

  const rows: Record<string, (event: WireEvent, out: ModelEvent[]) => void> = {
    message_start({ message }, out) {
      usage = merge(usage, message?.usage);
      out.push({ type: "usage", usage });
    },
    content_block_start({ index = 0, content_block: block = {} }, out) {
      const type = asText(block.type);
      const text = asText(block.text);
      if (type === "text" && text) out.push({ type: "text", text });
      const given = type === "tool_use" && hasKeys(block.input) ? JSON.stringify(block.input) : "";
      open.set(index, {
        type,
        id: asText(block.id),
        name: asText(block.name),
        text: given,
        signature: "",
        whole: block,
      });
    },
    content_block_delta({ index = 0, delta = {} }, out) {
      if (delta.type === "text_delta") {
        const text = asText(delta.text);
        if (text) out.push({ type: "text", text });
        return;
      }
      const block = open.get(index);
      if (!block) return;
      if (delta.type === "signature_delta") block.signature += asText(delta.signature);
      else if (delta.type === "input_json_delta") block.text += asText(delta.partial_json);
      else if (delta.type === "thinking_delta" && asText(delta.thinking)) {
        block.text += delta.thinking;
        out.push({ type: "thought", text: asText(delta.thinking) });
      }
    },
    content_block_stop({ index = 0 }, out) {
      const block = open.get(index);
      open.delete(index);
      if (!block) return;
      if (block.type === "tool_use") out.push({ type: "call", id: block.id, name: block.name, args: block.text });
      else if (block.type === "thinking") {
        const { text: thinking, signature } = block;
        out.push({ type: "sealed", block: { type: "thinking", thinking, signature } });
      } else if (block.type === "redacted_thinking") out.push({ type: "sealed", block: block.whole });
    },
    message_delta(event, out) {
      const said = event.delta?.stop_reason;
      if (said) stop = STOPS.get(said) ?? "end";
      usage = merge(usage, event.usage);
      out.push({ type: "usage", usage });
    },
    message_stop: (_event, out) => end(out),
    error({ error }) {
      throw reported(error);
    },
  };

  const end = (out: ModelEvent[]): void => {
    // Compatible servers do not always say where a block ends.
    for (const index of [...open.keys()]) rows["content_block_stop"]?.({ index }, out);
    out.push({ type: "stop", reason: stop ?? "end" });
  };

  return {
    read(event, out) {
      if (typeof event !== "object" || event === null) return;
      const { type = "" } = event as WireEvent;
      if (Object.hasOwn(rows, type)) rows[type]?.(event as WireEvent, out);
    },
    // The reason to stop is the last word, whether or not the mark behind it arrives.
    finish(out) {
      if (stop) end(out);
    },
  };
}

// --- internal ---

function merge(usage: Usage, news: WireUsage | undefined): Usage {
  return {
    input: news?.input_tokens ?? usage.input,
    output: news?.output_tokens ?? usage.output,
    cacheRead: news?.cache_read_input_tokens ?? usage.cacheRead,
    cacheWrite: news?.cache_creation_input_tokens ?? usage.cacheWrite,
    reasoning: usage.reasoning,
  };
}

function hasKeys(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

function reported(error: WireEvent["error"]): AgentError {
  return providerError(0, error?.type ?? "api_error", error?.message ?? "the provider reported an error");
}
