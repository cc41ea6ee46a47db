/** The chunks of a Chat Completions stream, read into model events. */
import type { ModelStop, Usage } from "../model.js";
import { providerError } from "../sse.js";
import { asText, type WireReader } from "../wire-reader.js";

interface WireChunk {
  choices?: readonly {
    delta?: {
      content?: string | null;
      refusal?: string | null;
      reasoning_content?: string | null;
      reasoning?: string | null;
      tool_calls?: readonly WireCall[] | null;
    };
    finish_reason?: string | null;
  }[];
  usage?: WireUsage | null;
  error?: { message?: string; type?: string; code?: string | number | null } | string;
}

interface Call {
  id: string;
  name: string;
  args: string;
}

interface WireCall {
  index?: number;
  id?: string | null;
  function?: { name?: string | null; arguments?: string | null };
}

interface WireUsage {
  prompt_tokens?: number;
  completion_tokens?: number;
  prompt_tokens_details?: { cached_tokens?: number } | null;
  completion_tokens_details?: { reasoning_tokens?: number } | null;
}

const STOPS: ReadonlyMap<string, ModelStop> = new Map([
  ["tool_calls", "calls"],
  ["function_call", "calls"],
  ["length", "max_tokens"],
  ["content_filter", "refusal"],
]);

export function createChatReader(): WireReader {
  const calls: Call[] = [];
  const open = new Map<number, Call>();
  let stop: ModelStop | undefined;
  let refused = false;

  const addCall = (fragment: WireCall, position: number): void => {
    const index = fragment.index ?? position;
    let call = open.get(index);
    // Servers that send whole calls may give them all one index: a second id is a second call.
    if (!call || (call.id && fragment.id && fragment.id !== call.id)) {
      call = { id: "", name: "", args: "" };
      calls.push(call);
      open.set(index, call);
    }
    call.id ||= asText(fragment.id);
    call.name ||= asText(fragment.function?.name);
    call.args += asText(fragment.function?.arguments);
  };

  return {
    read(chunk, out) {
      if (typeof chunk !== "object" || chunk === null) return;
      const { choices, usage, error } = chunk as WireChunk;
      if (error) throw reported(error);
      const choice = choices?.[0];
      if (choice) {
        const { delta } = choice;
        if (delta) {
          const text = asText(delta.content);
          if (text) out.push({ type: "text", text });
          const thought = asText(delta.reasoning_content ?? delta.reasoning);
          if (thought) out.push({ type: "thought", text: thought });
          const refusal = asText(delta.refusal);
          if (refusal) {
            refused = true;
            out.push({ type: "text", text: refusal });
          }
          if (Array.isArray(delta.tool_calls)) delta.tool_calls.forEach(addCall);
        }
        if (choice.finish_reason) stop = STOPS.get(choice.finish_reason) ?? "end";
      }
      if (usage) out.push({ type: "usage", usage: usageOf(usage) });
    },
    // The usage comes after the finish, so the reply is complete only when the stream has ended.
    finish(out) {
      if (!stop) return;
      for (const call of calls) out.push({ type: "call", ...call });
      out.push({ type: "stop", reason: refused ? "refusal" : stop });
    },
  };
}

// --- internal ---

function usageOf(usage: WireUsage): Usage {
  const cacheRead = usage.prompt_tokens_details?.cached_tokens ?? 0;
  return {
    input: Math.max(0, (usage.prompt_tokens ?? 0) - cacheRead),
    output: usage.completion_tokens ?? 0,
    cacheRead,
    cacheWrite: 0,
    reasoning: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  };
}

function reported(error: NonNullable<WireChunk["error"]>): Error {
  if (typeof error === "string") return providerError(0, "error", error);
  const { code, type, message = "the provider reported an error" } = error;
  if (typeof code === "number") return providerError(code, type ?? "", message);
  return providerError(0, code ?? type ?? "server_error", message);
}
