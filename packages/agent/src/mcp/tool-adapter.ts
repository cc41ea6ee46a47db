/** A tool of an MCP server as a tool of ours. */
import { createHash } from "node:crypto";
import { startOf } from "@chimera/acp-schema/text";
import { isDeeperThan, isJsonObject, type JsonObject } from "../json.js";
import type { InputSchema, JsonSchema, Tool, ToolContext, ToolImage, ToolOutcome } from "../tool.js";
import { isPicture } from "../tool.js";
import { capOutput } from "../tools/cap-output.js";
import { progress } from "../tools/define.js";
import type { McpClient, McpTool } from "./client.js";

const MAX_NAME = 64;
const MAX_DESCRIPTION = 4000;
const MAX_SCHEMA = 100_000;
const MAX_SCHEMA_DEPTH = 32;

/** What a server says about its own tools is not trusted: every one of them asks. */
export function adaptTool(server: string, tool: McpTool, client: McpClient): Tool<Record<string, unknown>> {
  const title = startOf(`${server}: ${asText(tool.title) || tool.name}`, 120);
  return {
    name: mcpToolName(server, tool.name),
    aliases: [],
    description: startOf(asText(tool.description) || `${tool.name} of the MCP server ${server}`, MAX_DESCRIPTION),
    input: anyObject,
    inputSchema: schemaOf(tool.inputSchema),
    kind: "other",
    parallel: false,
    describe: () => ({ title, locations: [], touches: { reads: [], writes: [] } }),
    run: async (input, context) => {
      context.signal.throwIfAborted();
      const options = { signal: context.signal, onProgress: (text: string) => progress(context, "stdout", text) };
      try {
        return await outcomeOf(await client.call(tool.name, input, options), context);
      } catch (error) {
        context.signal.throwIfAborted();
        const { message } = error as Error;
        return { success: false, output: message, error: message };
      }
    },
  };
}

/** `mcp__server__tool` in the characters and length that every model provider takes. */
export function mcpToolName(server: string, tool: string): string {
  const full = `mcp__${clean(server)}__${clean(tool)}`;
  if (full.length <= MAX_NAME) return full;
  const mark = createHash("sha256").update(`${server}\0${tool}`).digest("hex").slice(0, 8);
  return `${full.slice(0, MAX_NAME - mark.length - 1)}_${mark}`;
}

// --- internal ---

const anyObject: InputSchema<Record<string, unknown>> = {
  "~standard": {
    version: 1,
    vendor: "chimera",
    validate: (value) => (isJsonObject(value) ? { value } : { issues: [{ message: "expected an object" }] }),
  },
};

function clean(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_");
}

/** It goes into every request: one that no provider would take is worth less than none. */
function schemaOf(schema: unknown): JsonSchema {
  const any = { type: "object" };
  if (!isJsonObject(schema) || schema["type"] !== "object" || isDeeperThan(MAX_SCHEMA_DEPTH, schema)) return any;
  return JSON.stringify(schema).length > MAX_SCHEMA ? any : schema;
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

async function outcomeOf(result: JsonObject, context: ToolContext): Promise<ToolOutcome> {
  const blocks = Array.isArray(result["content"]) ? result["content"].filter(isBlock) : [];
  const structured = result["structuredContent"];
  const text =
    blocks.length === 0 && structured !== undefined ? JSON.stringify(structured) : blocks.map(textOf).join("\n");
  const output = await capOutput(text, context);
  const images = blocks.flatMap(pictureOf);
  const shown = images.length > 0 ? { images } : {};
  if (result["isError"] !== true) return { success: true, output, ...shown };
  return { success: false, output, error: startOf(output, 500) || "The tool failed.", ...shown };
}

type Block = { readonly type: string } & Readonly<Record<string, unknown>>;

function isBlock(value: unknown): value is Block {
  return isJsonObject(value) && typeof value["type"] === "string";
}

function textOf(block: Block): string {
  if (block.type === "text") return String(block["text"] ?? "");
  if (block.type === "resource") {
    const { uri, text } = isJsonObject(block["resource"]) ? block["resource"] : {};
    return typeof text === "string" ? text : `[resource: ${String(uri)}]`;
  }
  return block.type === "resource_link" ? `[resource: ${String(block["uri"])}]` : `[${block.type}]`;
}

function pictureOf(block: Block): ToolImage[] {
  const image = { mimeType: block["mimeType"], data: block["data"] };
  return block.type === "image" && isPicture(image) ? [image] : [];
}
