/** The body of an OpenAI Chat Completions request, the dialect most servers speak. */
import type { ModelMessage, ModelRequest } from "../model.js";
import { type PromptPart, promptParts } from "../prompt-parts.js";

export interface ChatSettings {
  readonly model: string;
  /** Sent as `reasoning_effort` where the person asked for one. */
  readonly effort: string | null;
}

type Wire = Record<string, unknown>;

export function chatBody({ model, effort }: ChatSettings, request: ModelRequest): string {
  return JSON.stringify({
    model,
    stream: true,
    stream_options: { include_usage: true },
    ...(effort ? { reasoning_effort: effort } : {}),
    ...(request.tools.length > 0
      ? {
          tools: request.tools.map(({ name, description, inputSchema }) => ({
            type: "function",
            function: { name, description, parameters: inputSchema },
          })),
        }
      : {}),
    messages: [
      ...(request.system ? [{ role: "system", content: request.system }] : []),
      ...wireMessages(request.messages),
    ],
  });
}

// --- internal ---

function wireMessages(messages: readonly ModelMessage[]): Wire[] {
  const wire: Wire[] = [];
  // Results must follow their call without a gap, so pictures wait until the last result of a group is out.
  let pictures: PromptPart[] = [];
  const showPictures = () => {
    if (pictures.length > 0) wire.push({ role: "user", content: pictures.map(wirePart) });
    pictures = [];
  };
  for (const message of messages) {
    if (message.role !== "tool") showPictures();
    wire.push(wireMessage(message));
    if (message.role !== "tool" || !message.images?.length) continue;
    pictures.push({ type: "text", text: `Pictures from ${message.name}:` });
    pictures.push(...message.images.map((image) => ({ type: "image" as const, ...image })));
  }
  showPictures();
  return wire;
}

function wireMessage(message: ModelMessage): Wire {
  switch (message.role) {
    case "user": {
      const parts = promptParts(message);
      const plain = parts.every((part) => part.type === "text");
      return { role: "user", content: plain ? parts.map((part) => part.text).join("\n") : parts.map(wirePart) };
    }
    case "summary":
      return { role: "user", content: message.text };
    case "assistant":
      return {
        role: "assistant",
        content: message.text || (message.tools.length > 0 ? null : "(nothing)"),
        ...(message.tools.length > 0
          ? {
              tool_calls: message.tools.map(({ id, name, args }) => ({
                id,
                type: "function",
                function: { name, arguments: JSON.stringify(args) },
              })),
            }
          : {}),
      };
    case "tool":
      return { role: "tool", tool_call_id: message.id, content: message.output || "(no output)" };
  }
}

function wirePart(part: PromptPart): Wire {
  if (part.type === "text") return { type: "text", text: part.text };
  return { type: "image_url", image_url: { url: `data:${part.mimeType};base64,${part.data}` } };
}
