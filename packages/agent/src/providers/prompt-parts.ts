/** A person's prompt as the two things models take: text and pictures. */
import type { PromptBlock } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import { isPicture, type ToolImage } from "../tool.js";
import type { ModelMessage } from "./model.js";

export type PromptPart = { readonly type: "text"; readonly text: string } | ({ readonly type: "image" } & ToolImage);

/** Blocks that are neither text nor a picture are named in words, so that the model knows they were there. */
export function promptParts(prompt: {
  readonly text: string;
  readonly content?: readonly PromptBlock[];
}): PromptPart[] {
  const parts = prompt.content?.length ? prompt.content.map(partOf) : [{ type: "text" as const, text: prompt.text }];
  const said = parts.filter((part) => part.type !== "text" || part.text.trim() !== "");
  return said.length > 0 ? said : [{ type: "text", text: "(empty prompt)" }];
}

/** Pictures that tools brought, as a person's message. */
export interface PicturesMessage {
  readonly role: "pictures";
  readonly parts: readonly PromptPart[];
}

/** For wires whose results are text: results follow their calls without a gap, so pictures wait for the last one of a group. */
export function* withPictures(messages: readonly ModelMessage[]): Generator<ModelMessage | PicturesMessage> {
  let parts: PromptPart[] = [];
  for (const message of messages) {
    if (message.role !== "tool" && parts.length > 0) {
      yield { role: "pictures", parts };
      parts = [];
    }
    yield message;
    if (message.role !== "tool" || !message.images?.length) continue;
    parts.push({ type: "text", text: `Pictures from ${message.name}:` });
    parts.push(...message.images.map((image) => ({ type: "image" as const, ...image })));
  }
  if (parts.length > 0) yield { role: "pictures", parts };
}

// --- internal ---

function partOf(block: PromptBlock): PromptPart {
  const { type, text, data, mimeType, uri, resource } = block as Record<string, unknown>;
  if (type === "text") return { type: "text", text: String(text ?? "") };
  if (type === "image") {
    const image = { mimeType, data };
    if (isPicture(image)) return { type, ...image };
    return { type: "text", text: `[a picture that cannot be shown: ${startOf(String(mimeType), 80)}]` };
  }
  if (type === "resource" && typeof resource === "object" && resource !== null) {
    const embedded = resource as Record<string, unknown>;
    if (typeof embedded["text"] === "string") {
      return {
        type: "text",
        text: `<file path=${JSON.stringify(embedded["uri"] ?? "")}>\n${embedded["text"]}\n</file>`,
      };
    }
    return { type: "text", text: `[resource: ${String(embedded["uri"] ?? "unnamed")}]` };
  }
  if (typeof uri === "string") return { type: "text", text: `[resource: ${uri}]` };
  return { type: "text", text: `[${String(type)}]` };
}
