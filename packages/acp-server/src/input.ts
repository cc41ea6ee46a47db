/** What a client hands over that the schemas cannot check or turn into a prompt: directories and content blocks. */
import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { ContentBlock } from "@chimera/acp-schema";
import { ErrorCode, RpcError } from "@chimera/ndjson-rpc";
import type { PromptInput } from "@chimera/session";

/** Throws unless each path is absolute, there, and a directory. */
export function requireDirectories(paths: readonly string[]): void {
  paths.forEach(requireDirectory);
}

/** Content blocks -> the text a model reads, and the blocks when they are more than text. */
export function promptInput(blocks: readonly ContentBlock[]): PromptInput {
  const text = blocks.map(textOf).filter(Boolean).join("\n");
  const plain = blocks.every((block) => block.type === "text");
  return plain ? { text } : { text, content: blocks as PromptInput["content"] & {} };
}

// --- internal ---

function requireDirectory(path: string): void {
  if (!isAbsolute(path) || path.includes("\0")) throw refused(path, "is not an absolute path");
  const found = look(path);
  if (!found?.isDirectory()) throw refused(path, found ? "is not a directory" : "does not exist");
}

function look(path: string) {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

function refused(path: string, reason: string): RpcError {
  return new RpcError(ErrorCode.invalidParams, `${JSON.stringify(path.slice(0, 200))} ${reason}`, { path });
}

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
