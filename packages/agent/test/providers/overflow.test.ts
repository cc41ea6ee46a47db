import { describe, expect, it } from "vitest";
import { of, takeTurn } from "../take-turn.js";
import { serveWire } from "./wire-server.js";
import { agentOn, chat as gpt } from "./wires.js";

/** An unknown model: its requests have no output limit, so no refusal can be due to one. */
const chat = { ...gpt, model: "in-house" };

/** Quoted from reports and documents: vendor, status, message, error name. */
const OVERFLOWS: [vendor: string, status: number, message: string, code?: string][] = [
  ["Anthropic", 400, "prompt is too long: 213462 tokens > 200000 maximum"],
  [
    "Anthropic",
    400,
    "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again",
  ],
  ["Anthropic", 413, "Request exceeds the maximum size", "request_too_large"],
  [
    "OpenAI",
    400,
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "context_length_exceeded",
  ],
  [
    "OpenAI",
    400,
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.",
  ],
  [
    "OpenAI",
    400,
    "Invalid 'input[1].content': string too long. Expected a string with maximum length 10485760, but got a string with length 14000000 instead.",
    "string_above_max_length",
  ],
  [
    "OpenAI",
    429,
    "Request too large for gpt-4.1 in organization org-x on tokens per min (TPM): Limit 30000, Requested 37313. The input or output tokens must be reduced in order to run successfully.",
    "rate_limit_exceeded",
  ],
  [
    "Groq",
    413,
    "Request too large for model `llama-3.3-70b-versatile` in organization `org_x` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again.",
    "rate_limit_exceeded",
  ],
  ["Groq", 400, "Please reduce the length of the messages or completion."],
  [
    "Cerebras",
    400,
    "Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000",
  ],
  ["Cerebras", 413, ""],
  ["Gemini", 400, "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."],
  ["Vertex", 400, "The input token count exceeds the maximum number of tokens allowed 1048576."],
  ["Vertex", 400, "Unable to submit request because the input context is too long."],
  ["xAI", 400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
  [
    "DeepSeek",
    400,
    "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
    "invalid_request_error",
  ],
  [
    "OpenRouter",
    400,
    'This endpoint\'s maximum context length is 131072 tokens. However, you requested about 215213 tokens (199213 of text input, 16000 in the output). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
  ],
  [
    "OpenRouter",
    402,
    "Prompt tokens limit exceeded: 36163 > 29652. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account",
  ],
  ["Amazon Bedrock", 400, "Input is too long for requested model."],
  [
    "Amazon Bedrock",
    400,
    "The model returned the following errors: prompt is too long: 903884 tokens > 200000 maximum",
  ],
  [
    "Amazon Bedrock",
    400,
    "This model's maximum context length is 202752 tokens. However, you requested 65536 output tokens and your prompt contains at least 137217 input tokens, for a total of at least 202753 tokens. Please reduce the length of the input prompt or the number of requested output tokens.",
  ],
  ["Amazon Bedrock", 400, "Malformed input request: too many total text bytes: 25000000 > 20000000"],
  ["GitHub Copilot", 400, "prompt token count of 146270 exceeds the limit of 128000"],
  [
    "GitHub Copilot",
    400,
    "prompt token count of 138898 exceeds the limit of 64000",
    "model_max_prompt_tokens_exceeded",
  ],
  ["Kimi", 400, "Invalid request: Your request exceeded model token limit: 262144 (requested: 281234)"],
  ["MiniMax", 400, "invalid params, context window exceeds limit (2013)"],
  [
    "Mistral",
    400,
    "Prompt contains 137423 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
  ],
  ["Together", 400, "The input (45213 tokens) is longer than the model's context length (32768 tokens)."],
  [
    "Together",
    422,
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769. Given: 40000 `inputs` tokens and 2048 `max_new_tokens`",
  ],
  ["Hugging Face", 422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 1168"],
  ["Fireworks", 400, "The prompt is too long: 140000, model maximum context length: 131071"],
  ["z.ai", 400, "Prompt exceeds max length", "1261"],
  [
    "DashScope",
    400,
    "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]",
    "invalid_parameter_error",
  ],
  ["Volcano Engine", 400, "Input length 203743 exceeds the maximum length 202752", "InvalidParameter"],
  ["Poolside", 400, "Input length 140000 exceeds the maximum allowed input length of 131072 tokens."],
  [
    "LiteLLM",
    400,
    "litellm.ContextWindowExceededError: Requested token count exceeds the model's maximum context length of 131072 tokens.",
  ],
  [
    "vLLM",
    400,
    "The decoder prompt (length 40000) is longer than the maximum model length of 32768. Make sure that `max_model_len` is no smaller than the number of text tokens.",
  ],
  ["SGLang", 400, "The input (40001 tokens) is longer than the model's context length (32768 tokens)."],
  ["llama.cpp", 400, "the request exceeds the available context size, try increasing it", "exceed_context_size_error"],
  ["llama.cpp", 500, "request (53192 tokens) exceeds context size (50176 tokens)"],
  [
    "LM Studio",
    400,
    "Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
  ],
  [
    "LM Studio",
    400,
    "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096).",
  ],
  ["LM Studio", 400, "Context size has been exceeded."],
  ["Ollama", 400, "prompt too long; exceeded max context length by 4321 tokens"],
  [
    "Cohere",
    400,
    "too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value.",
  ],
  ["Salesforce", 400, "Request input tokens exceed model token limit. Reduce the input size."],
  ["watsonx", 400, "the number of input tokens 135000 cannot exceed the total tokens limit 131072 for this model"],
  ["nobody yet", 400, "Sorry, that conversation is too long for me."],
];

/** Refusals for another reason. */
const OTHERS: [status: number, message: string, name: string][] = [
  [
    400,
    "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku",
    "bad_request",
  ],
  [400, "max_tokens is too large: 64000. This model supports at most 16384 completion tokens.", "bad_request"],
  [
    400,
    "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 7340032 bytes > 5242880 bytes",
    "bad_request",
  ],
  [
    400,
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 200 instead.",
    "bad_request",
  ],
  [400, "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model.", "bad_request"],
  [429, "Too many tokens, please wait before trying again.", "rate_limited"],
  [
    429,
    "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.",
    "rate_limited",
  ],
  [401, "Your token exceeded its lifetime.", "unauthorized"],
];

const history = [
  { role: "user", text: "hi" },
  { role: "assistant", parts: [{ type: "text", text: "hello" }] },
] as const;

describe("a refusal for the length of the conversation", () => {
  it.each(OVERFLOWS)("is recognised in the message of %s (%i %s)", async (_vendor, status, message, code) => {
    const refusal = { status, writes: [message && JSON.stringify({ error: { message, ...(code && { code }) } })] };
    const server = await serveWire([refusal, { writes: [chat.text(["They said hi."])] }, { writes: [chat.closing] }]);
    const events = await takeTurn(agentOn(chat, server.url), { history, number: 1 });
    expect(of(events, "compaction")).toHaveLength(1);
    expect(of(events, "agent_result")).toMatchObject([{ success: true }]);
  });

  it.each(OTHERS)("is not seen in another message: %i %s", async (status, message, name) => {
    const server = await serveWire([{ status, writes: [JSON.stringify({ error: { message } })] }]);
    const events = await takeTurn(agentOn(chat, server.url), { history, number: 1 });
    expect(of(events, "compaction")).toEqual([]);
    expect(of(events, "error")).toMatchObject([{ name }]);
  });
});
