/** Anthropic: the Messages API (https://platform.claude.com/docs/en/api/messages). */
import type { Loose, ModelReply, Said, Vendor } from "./vendor.js";
import { argsText, createIds, piecesOf, Refusal, sealOf, sse, unknownKey } from "./vendor.js";

export interface ClaudeOptions {
  readonly model?: string;
  /** The form of thinking that the model accepts. @defaultValue adaptive */
  readonly thinking?: "adaptive" | "enabled";
  /** Most tokens in a reply. @defaultValue 128,000 */
  readonly maxOutput?: number;
  /** Whether thinking is bound to the conversation before it, as from 5.1 on. @defaultValue true for adaptive models */
  readonly bound?: boolean;
}

/** A Claude server, and the number of blocks that each answered request read from the cache. */
export function createClaude(options: ClaudeOptions = {}): Vendor & { readonly cacheReads: number[] } {
  const { model = "claude-opus-5-5", thinking = "adaptive", maxOutput = 128_000 } = options;
  const { bound = thinking === "adaptive" } = options;
  const ids = createIds();
  /** Signature, or data of a redacted block -> its reply, and the conversation before that reply. */
  const signed = new Map<string, { blocks: Loose[]; index: number; after: string }>();
  const sent: Loose[] = [];
  /** The last paused reply. A request may end with it unchanged, and the answer then continues it. */
  let paused: { blocks: Loose[]; after: string } | null = null;
  const cached = new Set<string>();
  const cacheReads: number[] = [];

  return {
    name: `Claude (${thinking})`,
    model,
    cacheReads,
    sent,
    repliesIn: ({ messages }) =>
      messages.flatMap((said: Loose) => (said.role === "assistant" ? [said.content.map(bare)] : [])),
    env: (url) => ({ ANTHROPIC_API_KEY: "sk-ant", ANTHROPIC_BASE_URL: url }),
    answer({ method, path, headers, body }, next) {
      if (method !== "POST" || path !== "/v1/messages") refuse("not_found_error", "Not Found", 404);
      if (!headers["x-api-key"]) refuse("authentication_error", "x-api-key header is required", 401);
      if (!headers["anthropic-version"]) refuse("invalid_request_error", "anthropic-version: header is required");
      checkFields(body, { model, maxOutput, thinking });
      checkMessages(body);
      checkThinking(body, signed, bound);
      const resumed = checkEnd(body, paused);
      const read = readCache(body, cached);
      cacheReads.push(read);
      const reply = thinkingFirst(next(), body);
      const blocks = reply.says.map((said) => blockOf(said, ids));
      const all = [...(resumed?.blocks ?? []), ...blocks];
      if (resumed) sent.pop();
      sent.push(sendable(all));
      const after = resumed?.after ?? digestOf(body, body.messages.length);
      all.forEach((block, index) => {
        const key = block.signature ?? (block.type === "redacted_thinking" ? block.data : undefined);
        if (key !== undefined) signed.set(key, { blocks: all, index, after });
      });
      paused = reply.stop === "pause_turn" ? { blocks: all, after } : null;
      return { stream: streamOf(model, blocks, reply, read) };
    },
  };
}

// --- internal ---

/** https://platform.claude.com/docs/en/api/errors */
function refuse(type: string, message: string, status = 400): never {
  throw new Refusal(status, { type: "error", error: { type, message }, request_id: "req_1" }, message);
}

function invalid(message: string): never {
  return refuse("invalid_request_error", message);
}

/** https://platform.claude.com/docs/en/api/messages/create#body-parameters */
const FIELDS = ["model", "max_tokens", "stream", "system", "thinking", "output_config", "tools", "messages"];

function checkFields(body: Loose, facts: { model: string; maxOutput: number; thinking: "adaptive" | "enabled" }): void {
  const extra = unknownKey(body, FIELDS);
  if (extra) invalid(`${extra}: Extra inputs are not permitted`);
  if (body.model !== facts.model) refuse("not_found_error", `model: ${body.model}`, 404);
  if (!Number.isInteger(body.max_tokens)) invalid("max_tokens: Field required");
  // https://platform.claude.com/docs/en/about-claude/models/overview
  if (body.max_tokens > facts.maxOutput)
    invalid(
      `max_tokens: ${body.max_tokens} > ${facts.maxOutput}, which is the maximum allowed number of output tokens for ${facts.model}`,
    );
  const { thinking } = body;
  // https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking#supported-models
  if (thinking?.type === "enabled" && facts.thinking === "adaptive")
    invalid(
      `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`,
    );
  if (thinking?.type === "adaptive" && facts.thinking === "enabled")
    invalid("adaptive thinking is not supported on this model");
  if (body.output_config && facts.thinking === "enabled")
    invalid("output_config: This model does not support the effort parameter.");
  // https://platform.claude.com/docs/en/build-with-claude/extended-thinking#how-to-use-extended-thinking
  if (thinking?.type === "enabled" && !(thinking.budget_tokens >= 1024))
    invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024");
  if (thinking?.type === "enabled" && thinking.budget_tokens >= body.max_tokens)
    invalid("`max_tokens` must be greater than `thinking.budget_tokens`.");
}

/** https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use#handling-tool-use-and-tool-result-content-blocks */
function checkMessages({ messages, system, tools }: Loose): void {
  if (!Array.isArray(messages) || messages.length === 0) invalid("messages: at least one message is required");
  if (messages[0].role !== "user") invalid('messages: first message must use the "user" role');
  const seen = new Set<string>();
  messages.forEach(({ content }: Loose, at: number) => {
    if (!Array.isArray(content) || content.length === 0)
      invalid(
        `messages.${at}: all messages must have non-empty content except for the optional final assistant message`,
      );
    for (const [index, block] of content.entries()) checkBlock(block, `messages.${at}.content.${index}`);
    const calls = content.filter((block: Loose) => block.type === "tool_use");
    const next = messages[at + 1]?.content ?? [];
    const missing = calls.filter(
      ({ id }: Loose) => !next.some((block: Loose) => block.type === "tool_result" && block.tool_use_id === id),
    );
    if (missing.length > 0)
      invalid(
        `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.map(({ id }: Loose) => id).join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
    for (const { id } of calls) {
      if (seen.has(id)) invalid("messages: `tool_use` ids must be unique");
      seen.add(id);
    }
    const before = messages[at - 1]?.content ?? [];
    for (const { type, tool_use_id } of content) {
      if (type !== "tool_result" || before.some((block: Loose) => block.id === tool_use_id)) continue;
      invalid(
        `messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${tool_use_id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      );
    }
  });
  const used = messages.some(({ content }: Loose) => content.some((block: Loose) => /^tool_/.test(block.type)));
  // https://github.com/BerriAI/litellm/issues/3217: Anthropic wants `tools` wherever there are tool blocks
  if (used && !tools?.length) invalid("Requests which include `tool_use` or `tool_result` blocks must define tools");
  const marks = [...(system ?? []), ...messages.flatMap(({ content }: Loose) => content)].filter(
    (block: Loose) => block.cache_control,
  );
  // https://platform.claude.com/docs/en/build-with-claude/prompt-caching#cache-limitations
  if (marks.length > 4) invalid(`A maximum of 4 blocks with cache_control may be provided. Found ${marks.length}.`);
}

function checkBlock(block: Loose, where: string): void {
  if (block.type === "text" && !block.text?.trim())
    invalid(`${where}: text content blocks must contain non-whitespace text`);
  if (block.type === "tool_use" && !/^[a-zA-Z0-9_-]+$/.test(block.id))
    invalid(`${where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
  if (block.type === "tool_use" && (typeof block.input !== "object" || block.input === null))
    invalid(`${where}.tool_use.input: Input should be a valid dictionary`);
  if (/thinking$/.test(block.type) && block.cache_control)
    invalid(`${where}.thinking.cache_control: Extra inputs are not permitted`);
  const bytes = block.type === "image" ? block.source?.data : "x";
  if (!bytes) invalid(`${where}.image.source.base64: Field required`);
}

/**
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking#preserving-thinking-blocks and
 * https://platform.claude.com/docs/en/build-with-claude/preserved-thinking; words: anomalyco/opencode#48637,
 * router-for-me/CLIProxyAPI#3624
 */
function checkThinking(
  body: Loose,
  sent: Map<string, { blocks: Loose[]; index: number; after: string }>,
  bound: boolean,
) {
  body.messages.forEach(({ role, content }: Loose, at: number) => {
    if (role !== "assistant") return;
    if (/thinking$/.test(content.at(-1).type))
      invalid(`messages.${at}: The final block in an assistant message cannot be \`thinking\`.`);
    content.forEach((block: Loose, index: number) => {
      if (!/thinking$/.test(block.type)) return;
      const where = `messages.${at}.content.${index}`;
      const known = sent.get(block.signature ?? block.data);
      if (!known || JSON.stringify(known.blocks[known.index]) !== JSON.stringify(bare(block)))
        invalid(`${where}: Invalid \`signature\` in \`thinking\` block`);
      if (JSON.stringify(sendable(known.blocks)) !== JSON.stringify(content.map(bare)))
        invalid(
          `${where}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
        );
      if (bound && known.after !== digestOf(body, at))
        invalid(
          `${where}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".`,
        );
    });
  });
  const { thinking, messages } = body;
  const loop = messages.at(-1).content.some((block: Loose) => block.type === "tool_result");
  const latest = messages.at(-2)?.content ?? [];
  // https://platform.claude.com/docs/en/build-with-claude/extended-thinking#extended-thinking-with-tool-use
  if (thinking?.type === "enabled" && loop && latest.length > 0 && !/thinking$/.test(latest[0].type)) {
    const from = messages.findLastIndex(({ content }: Loose) => content.every((block: Loose) => block.type === "text"));
    const turn = messages.slice(from + 1).find(({ role }: Loose) => role === "assistant");
    if (!/thinking$/.test(turn?.content[0].type))
      invalid(
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).",
      );
  }
}

/**
 * A request may end with an unchanged paused reply (https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons#pause-turn)
 * and with no other words of the model (https://platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-6).
 */
function checkEnd({ messages }: Loose, paused: { blocks: Loose[]; after: string } | null): typeof paused {
  const { role, content } = messages.at(-1);
  if (role !== "assistant") return null;
  if (!paused || JSON.stringify(content.map(bare)) !== JSON.stringify(sendable(paused.blocks)))
    invalid("This model does not support assistant message prefill. The conversation must end with a user message.");
  return paused;
}

/** The vendor refuses a blank text, although models write them, and thinking at the end of a message. */
function sendable(blocks: Loose[]): Loose[] {
  const last = blocks.findLastIndex((block) => (block.type === "text" ? block.text.trim() : block.type === "tool_use"));
  return blocks.slice(0, last + 1).filter((block) => block.type !== "text" || block.text.trim());
}

function bare({ cache_control: _mark, ...block }: Loose): Loose {
  return block;
}

/** Everything before a message, without the cache marks. */
function digestOf({ system, tools, messages }: Loose, upTo: number): string {
  const said = messages.slice(0, upTo).map(({ role, content }: Loose) => [role, content.map(bare)]);
  return sealOf(system?.map(bare), tools, said);
}

/**
 * How many blocks a request reads from the cache: up to a mark of an earlier request, within 20 blocks before a mark of this one
 * (https://platform.claude.com/docs/en/build-with-claude/prompt-caching#how-automatic-prefix-checking-works).
 */
function readCache({ system = [], tools, messages }: Loose, cached: Set<string>): number {
  const blocks = [...system, ...messages.flatMap(({ content }: Loose) => content)];
  const prefixes: string[] = [];
  for (const block of blocks) prefixes.push(sealOf(prefixes.at(-1) ?? tools, bare(block)));
  const marks = blocks.flatMap((block, index) => (block.cache_control ? [index] : []));
  const hits = marks.flatMap((mark) =>
    prefixes.slice(Math.max(0, mark - 20), mark + 1).flatMap((prefix, n) => {
      return cached.has(prefix) ? [Math.max(0, mark - 20) + n + 1] : [];
    }),
  );
  for (const mark of marks) cached.add(prefixes[mark] as string);
  return Math.max(0, ...hits);
}

/** A model with a budget begins with thinking: https://platform.claude.com/docs/en/build-with-claude/extended-thinking */
function thinkingFirst(reply: ModelReply, { thinking }: Loose): ModelReply {
  const [first] = reply.says;
  if (thinking?.type !== "enabled" || (first && ("reasoning" in first || "hidden" in first))) return reply;
  return { ...reply, says: [{ reasoning: "Let me see." }, ...reply.says] };
}

function blockOf(said: Said, ids: (prefix: string) => string): Loose {
  if ("text" in said) return { type: "text", text: said.text };
  if ("reasoning" in said) return { type: "thinking", thinking: said.reasoning, signature: ids("sig_") };
  if ("hidden" in said) return { type: "redacted_thinking", data: ids("red_") };
  return { type: "tool_use", id: ids("toolu_"), name: said.call, input: parsed(argsText(said.args)) };
}

/** Keeps a call whose arguments are not JSON in the form in which the client must send it back. */
function parsed(text: string): Loose {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** https://platform.claude.com/docs/en/build-with-claude/streaming */
function streamOf(model: string, blocks: Loose[], { says, stop = "end" }: ModelReply, read: number): string[] {
  const event = (data: Loose) => sse(data, data.type);
  const usage = {
    input_tokens: 10,
    cache_read_input_tokens: read * 100,
    cache_creation_input_tokens: 0,
    output_tokens: 1,
  };
  const start = { id: "msg_1", type: "message", role: "assistant", model, content: [], stop_reason: null, usage };
  const called = blocks.some((block) => block.type === "tool_use");
  const stop_reason = stop === "end" ? (called ? "tool_use" : "end_turn") : stop;
  return [
    event({ type: "message_start", message: start }),
    event({ type: "ping" }),
    ...blocks.map((block, index) =>
      blockEvents(block, index, says[index] as Said)
        .map(event)
        .join(""),
    ),
    event({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } }),
    event({ type: "message_stop" }),
  ];
}

function blockEvents(block: Loose, index: number, said: Said): Loose[] {
  const { start, deltas } = eventsOf(block, said);
  return [
    { type: "content_block_start", index, content_block: start },
    ...deltas.map((delta: Loose) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

function eventsOf({ type, ...block }: Loose, said: Said): { start: Loose; deltas: Loose[] } {
  switch (type) {
    case "text":
      return { start: { type, text: "" }, deltas: piecesOf(block.text).map((text) => ({ type: "text_delta", text })) };
    case "thinking":
      return {
        start: { type, thinking: "", signature: "" },
        deltas: [
          ...piecesOf(block.thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
          { type: "signature_delta", signature: block.signature },
        ],
      };
    case "tool_use":
      return {
        start: { type, id: block.id, name: block.name, input: {} },
        deltas: ["", ...piecesOf("call" in said ? argsText(said.args) : "")].map((partial_json) => ({
          type: "input_json_delta",
          partial_json,
        })),
      };
    default:
      return { start: { type, ...block }, deltas: [] };
  }
}
