/** The body of an Anthropic Messages request. */
import type { ModelMessage, ModelRequest } from "../model.js";
import { promptParts } from "../prompt-parts.js";

export interface AnthropicSettings {
  readonly model: string;
  readonly maxOutput: number;
  /** Tokens the model may think with; 0 turns thinking off. */
  readonly thinkingBudget: number;
}

type Block = Record<string, unknown>;
interface WireMessage {
  role: "user" | "assistant";
  content: Block[];
}

const CACHED = { type: "ephemeral" };

export function anthropicBody({ model, maxOutput, thinkingBudget }: AnthropicSettings, request: ModelRequest): string {
  const messages = wireMessages(request.messages);
  // Two breakpoints: what never changes, and the conversation so far. Each step then re-reads all but its own news.
  const last = messages.at(-1)?.content.at(-1);
  if (last) last["cache_control"] = CACHED;
  return JSON.stringify({
    model,
    max_tokens: maxOutput,
    stream: true,
    ...(request.system ? { system: [{ type: "text", text: request.system, cache_control: CACHED }] } : {}),
    ...(thinkingBudget > 0 ? { thinking: { type: "enabled", budget_tokens: thinkingBudget } } : {}),
    ...(request.tools.length > 0
      ? { tools: request.tools.map((t) => ({ name: t.name, description: t.description, input_schema: t.inputSchema })) }
      : {}),
    messages,
  });
}

// --- internal ---

/** Roles must alternate and results belong to the user's side, so neighbours of one side are joined. */
function wireMessages(messages: readonly ModelMessage[]): WireMessage[] {
  const wire: WireMessage[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = blocksOf(message);
    const previous = wire.at(-1);
    if (previous?.role === role) previous.content.push(...content);
    else if (content.length > 0) wire.push({ role, content });
  }
  return wire;
}

function blocksOf(message: ModelMessage): Block[] {
  switch (message.role) {
    case "user":
      return promptParts(message).map((part) => (part.type === "text" ? textBlock(part.text) : imageBlock(part)));
    case "summary":
      return [textBlock(message.text)];
    case "assistant":
      return [
        ...((message.sealed as Block[] | undefined) ?? []),
        // A text of blanks only is refused.
        ...(message.text.trim() ? [textBlock(message.text)] : []),
        ...message.tools.map((use) => ({ type: "tool_use", id: use.id, name: use.name, input: use.args })),
      ];
    case "tool":
      return [
        {
          type: "tool_result",
          tool_use_id: message.id,
          is_error: !message.success,
          content: [
            textBlock(message.output.trim() ? message.output : "(no output)"),
            ...(message.images ?? []).map(imageBlock),
          ],
        },
      ];
  }
}

function textBlock(text: string): Block {
  return { type: "text", text };
}

function imageBlock({ mimeType, data }: { mimeType: string; data: string }): Block {
  return { type: "image", source: { type: "base64", media_type: mimeType, data } };
}
