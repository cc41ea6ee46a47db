/** The resources of MCP servers, as one tool: without an address it lists them, with one it reads. */
import { startOf } from "@chimera/acp-schema/text";
import * as v from "valibot";
import type { Tool } from "../tool.js";
import { capOutput } from "../tools/cap-output.js";
import { defineTool, failure } from "../tools/define.js";
import type { McpClient } from "./client.js";

interface ResourceServer {
  readonly name: string;
  readonly client: McpClient;
}

/** Empty when no server has resources. */
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
      // A server's answer is as foreign as its tools are: it is asked about.
      kind: "other",
      parallel: false,
      describe: ({ server, uri }) => ({
        title: startOf(`${server}: ${uri ?? "list resources"}`, 120),
        locations: [],
        touches: { reads: [], writes: [] },
      }),
      run: async ({ server, uri }, context) => {
        const found = servers.find(({ name }) => name === server);
        if (!found)
          return failure(
            `There is no MCP server named ${JSON.stringify(server)} with resources. There are: ${names.join(", ")}.`,
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
