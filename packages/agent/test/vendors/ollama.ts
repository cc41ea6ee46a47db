/** Ollama: /api/chat and /api/show (https://docs.ollama.com/api/chat). */
import type { Loose, ModelReply, Said, Vendor } from "./vendor.js";
import { argsText, createIds, piecesOf, Refusal } from "./vendor.js";

export interface OllamaOptions {
  readonly model?: string;
  readonly contextLength?: number;
  /** Lines of the model's file. */
  readonly parameters?: string;
  readonly capabilities?: readonly string[];
  /** Whether the model knows levels of thinking. @defaultValue false */
  readonly levels?: boolean;
  /** Whether calls have ids. @defaultValue false */
  readonly callIds?: boolean;
}

export function createOllama(options: OllamaOptions = {}): Vendor {
  const { model = "qwen3:8b", contextLength = 40_960, parameters = "", levels = false, callIds = false } = options;
  const { capabilities = ["completion", "tools", "thinking"] } = options;
  const ids = createIds();
  const sent: Loose[] = [];
  return {
    sent,
    repliesIn: ({ messages }) => messages.filter(({ role }: Loose) => role === "assistant"),
    name: "Ollama",
    model,
    env: (url) => ({ OLLAMA_HOST: url }),
    answer({ method, path, body }, next) {
      if (method !== "POST" || !["/api/chat", "/api/show"].includes(path)) refuse(404, "404 page not found");
      // https://github.com/ollama/ollama/blob/main/server/routes.go
      if (body.model !== model) refuse(404, `model '${body.model}' not found`);
      if (path === "/api/show") {
        const info = { "general.architecture": "qwen3", "qwen3.context_length": contextLength };
        return { status: 200, body: { parameters, capabilities, model_info: info, license: "x".repeat(100_000) } };
      }
      checkFields(body, capabilities, levels);
      // ollama/ollama#17301
      if (!capabilities.includes("vision") && body.messages.some(({ images }: Loose) => images?.length))
        refuse(400, "this model does not support image input");
      body.messages.forEach(checkMessage);
      const reply = next();
      const calls = reply.says.flatMap((said) =>
        "call" in said ? [callOf(said, callIds ? ids("call_") : undefined)] : [],
      );
      sent.push(messageOf(reply.says, calls));
      return { stream: linesOf(reply, calls), type: "application/x-ndjson" };
    },
  };
}

// --- internal ---

function refuse(status: number, error: string): never {
  throw new Refusal(status, { error }, error);
}

function checkFields(body: Loose, capabilities: readonly string[], levels: boolean): void {
  // https://github.com/ollama/ollama/blob/main/server/routes.go: the capabilities that a request needs
  if (body.tools?.length && !capabilities.includes("tools"))
    refuse(400, `registry.ollama.ai/library/${body.model} does not support tools`);
  if (body.think && !capabilities.includes("thinking")) refuse(400, `"${body.model}" does not support thinking`);
  if (typeof body.think === "string" && !levels)
    refuse(400, `think value "${body.think}" is not supported for this model`);
}

/** https://github.com/ollama/ollama/blob/main/api/types.go: the types of messages */
function checkMessage({ role, content, images, tool_calls, tool_name }: Loose): void {
  const wrong = (what: string) =>
    refuse(400, `json: cannot unmarshal into Go struct field ChatRequest.messages.${what}`);
  if (!["system", "user", "assistant", "tool"].includes(role)) wrong("role");
  if (typeof content !== "string") wrong("content of type string");
  if (images && !images.every((image: Loose) => typeof image === "string")) wrong("images of type api.ImageData");
  for (const { function: called } of tool_calls ?? []) {
    if (typeof called.arguments !== "object" || called.arguments === null || Array.isArray(called.arguments))
      wrong("tool_calls.function.arguments of type api.ToolCallFunctionArguments");
  }
  if (role === "tool" && typeof tool_name !== "string") wrong("tool_name of type string");
}

/** https://docs.ollama.com/api/streaming */
function linesOf({ says, stop = "end" }: ModelReply, calls: Loose[]): string[] {
  const waiting = [...calls];
  const line = (value: Loose) => `${JSON.stringify({ model: "m", created_at: "2026-11-17T00:00:00Z", ...value })}\n`;
  const part = (message: Loose) => line({ message: { role: "assistant", content: "", ...message }, done: false });
  const lines = says.flatMap((said: Said) => {
    if ("reasoning" in said) return piecesOf(said.reasoning).map((thinking) => part({ thinking }));
    if ("text" in said) return piecesOf(said.text).map((content) => part({ content }));
    if ("hidden" in said) return [];
    return [part({ tool_calls: [waiting.shift()] })];
  });
  const done_reason = stop === "max_tokens" ? "length" : "stop";
  const end = { done: true, done_reason, total_duration: 1, prompt_eval_count: 40, eval_count: 20 };
  return [...lines, line({ message: { role: "assistant", content: "" }, ...end })];
}

function callOf({ call, args }: Extract<Said, { call: string }>, id: string | undefined): Loose {
  return { ...(id && { id }), function: { name: call, arguments: objectOf(args) } };
}

function messageOf(says: readonly Said[], calls: Loose[]): Loose {
  const joined = (key: string) => says.map((said: Loose) => said[key] ?? "").join("");
  const [content, thinking] = [joined("text"), joined("reasoning")];
  return {
    role: "assistant",
    content,
    ...(thinking && { thinking }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function objectOf(args: Record<string, unknown> | string): Loose {
  try {
    return JSON.parse(argsText(args));
  } catch {
    return {};
  }
}
