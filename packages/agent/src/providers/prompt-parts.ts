/** A person's prompt as the two things models take: text and pictures. */
import type { PromptBlock } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import { isPicture } from "../picture.js";
import type { ToolImage } from "../tool.js";

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
