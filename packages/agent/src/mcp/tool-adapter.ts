/** Adapts MCP servers to the agent: each of their tools becomes a tool, and one more tool gives access to all resources. */
import { createHash } from "node:crypto";
import { startOf } from "@chimera/acp-schema/text";
import * as v from "valibot";
import { asText, isDeeperThan, isJsonObject, type JsonObject } from "../json.js";
import type { InputSchema, JsonSchema, Tool, ToolContext, ToolImage, ToolOutcome } from "../tool.js";
import { isPicture } from "../tool.js";
import { capOutput, defineTool, describeCall, failure, progress } from "../tools/define.js";
import type { McpClient, McpTool } from "./client.js";

const MAX_NAME = 64;
const MAX_DESCRIPTION = 4000;
const MAX_SCHEMA = 100_000;
const MAX_SCHEMA_DEPTH = 32;

/** Every such tool asks for permission, because a server's statements about its own tools are not trusted. */
export function adaptTool(server: string, tool: McpTool, client: McpClient): Tool<Record<string, unknown>> {
  return {
    name: mcpToolName(server, tool.name),
    aliases: [],
    description: startOf(asText(tool.description) || `${tool.name} of the MCP server ${server}`, MAX_DESCRIPTION),
    input: anyObject,
    inputSchema: schemaOf(tool.inputSchema),
    kind: "other",
    parallel: false,
    describe: () => describeCall(`${server}: ${asText(tool.title) || tool.name}`),
    run: async (input, context) => {
      context.signal.throwIfAborted();
      const options = { signal: context.signal, onProgress: (text: string) => progress(context, "stdout", text) };
      try {
        return await outcomeOf(await client.call(tool.name, input, options), context);
      } catch (error) {
        context.signal.throwIfAborted();
        return failure((error as Error).message);
      }
    },
  };
}

/**
 * `mcp__server__tool`, with the characters and length that every model provider accepts.
 *
 * @example
 * mcpToolName("files", "read"); // "mcp__files__read"
 */
export function mcpToolName(server: string, tool: string): string {
  const full = `mcp__${clean(server)}__${clean(tool)}`;
  if (full.length <= MAX_NAME) return full;
  const mark = createHash("sha256").update(`${server}\0${tool}`).digest("hex").slice(0, 8);
  return `${full.slice(0, MAX_NAME - mark.length - 1)}_${mark}`;
}

interface ResourceServer {
  readonly name: string;
  readonly client: McpClient;
}

/** One tool for the resources of all servers: it lists them, or reads the one at an address. No tool if no server has resources. */
export function resourceTools(servers: readonly ResourceServer[]): Tool[] {
  if (servers.length === 0) return [];
  const names = servers.map(({ name }) => name);
  return [
    defineTool({
      name: "mcp_resource",
      description: `List or read resources of MCP servers. Servers: ${startOf(names.join(", "), 500)}.`,
      input: v.object({
        server: v.pipe(v.string(), v.description("The name of the server.")),
        uri: v.optional(v.pipe(v.string(), v.description("The resource to read; left out, all are listed."))),
      }),
      // Resources are as untrusted as the server's tools, so this asks for permission too.
      kind: "other",
      parallel: false,
      describe: ({ server, uri }) => describeCall(`${server}: ${uri ?? "list resources"}`),
      run: async ({ server, uri }, context) => {
        const found = servers.find(({ name }) => name === server);
        if (!found)
          return failure(
            `No MCP server with resources is called ${JSON.stringify(server)}. Known servers: ${names.join(", ")}.`,
          );
        const text =
          uri === undefined
            ? await listed(found.client, context.signal)
            : await read(found.client, uri, context.signal);
        return { success: true, output: await capOutput(text, context) };
      },
    }),
  ] as Tool[];
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

/** The schema goes into every request, so one that providers refuse would break them all: replace it by one that allows any object. */
function schemaOf(schema: unknown): JsonSchema {
  const any = { type: "object" };
  if (!isJsonObject(schema) || schema["type"] !== "object" || isDeeperThan(MAX_SCHEMA_DEPTH, schema)) return any;
  return JSON.stringify(schema).length > MAX_SCHEMA ? any : schema;
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

async function listed(client: McpClient, signal: AbortSignal): Promise<string> {
  const resources = await client.resources({ signal });
  const lines = resources.map(({ uri, name, description }) =>
    [uri, name, description].filter((part) => typeof part === "string" && part !== "").join("  "),
  );
  return lines.join("\n") || "No resources.";
}

async function read(client: McpClient, uri: string, signal: AbortSignal): Promise<string> {
  const { contents } = await client.readResource(uri, { signal });
  const parts = Array.isArray(contents) ? contents : [];
  const texts = parts.map((part: { text?: unknown; mimeType?: unknown } | null) =>
    typeof part?.text === "string"
      ? part.text
      : `[${typeof part?.mimeType === "string" ? part.mimeType : "binary"} content]`,
  );
  return texts.join("\n") || "(empty)";
}
