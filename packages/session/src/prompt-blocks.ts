/** What a client sends as blocks of content, as a prompt. */
import type { ContentBlock } from "@chimera/acp-schema";
import type { PromptInput } from "./session.js";

/**
 * Content blocks -> the text a model reads, and the blocks when they are more than text.
 *
 * @example
 * session.prompt(promptOf([{ type: "text", text: "hello" }]));
 */
export function promptOf(blocks: readonly ContentBlock[]): PromptInput {
  const text = blocks.map(textOf).filter(Boolean).join("\n");
  const plain = blocks.every((block) => block.type === "text");
  return plain ? { text } : { text, content: blocks as PromptInput["content"] & {} };
}

// --- internal ---

function textOf(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "resource_link":
      return `[${block.name ?? block.uri}](${block.uri})`;
    case "resource": {
      const { resource } = block;
      return "text" in resource
        ? `<resource uri="${attribute(resource.uri)}">\n${resource.text}\n</resource>`
        : `[attached: ${resource.uri}${resource.mimeType ? `, ${resource.mimeType}` : ""}]`;
    }
    case "audio":
      return "[audio that cannot be heard here]";
    case "image":
      return "";
  }
}

function attribute(text: string): string {
  return text.replace(/["<>&\n]/g, encodeURIComponent);
}
