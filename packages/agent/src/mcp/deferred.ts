/**
 * Keeps requests small: above a budget, two tools replace the definitions of MCP tools. One searches them; the other calls one by name.
 * So the list of tools does not change, and the provider's cache stays valid.
 */
import { startOf } from "@chimera/acp-schema/text";
import * as v from "valibot";
import type { Tool } from "../tool.js";
import { defineTool, describeCall, failure } from "../tools/define.js";

/** Returns the tools unchanged if the definitions of the deferrable ones fit the budget. */
export function deferTools(tools: readonly Tool[], isDeferrable: (tool: Tool) => boolean): Tool[] {
  const many = tools.filter(isDeferrable);
  if (many.reduce((size, tool) => size + sizeOf(tool), 0) <= BUDGET) return [...tools];
  const deferred = many.map((tool) => ({ ...tool, deferred: true }));
  return [...tools.filter((tool) => !isDeferrable(tool)), searchTool(many), useTool, ...deferred];
}

// --- internal ---

/** Characters of definitions, about 4,000 tokens. */
const BUDGET = 16 * 1024;
const MOST_FOUND = 8;
const LONGEST_RESULT = 16 * 1024;

function sizeOf({ name, description, inputSchema }: Tool): number {
  return name.length + description.length + JSON.stringify(inputSchema).length;
}

function searchTool(tools: readonly Tool[]): Tool {
  return defineTool({
    name: "search_tools",
    description:
      `Find one of ${tools.length} further tools by what it does; the result has names, descriptions and schemas, and use_tool ` +
      `calls them. They come from: ${startOf(serversOf(tools).join(", "), 1_000)}.`,
    input: v.object({ query: v.pipe(v.string(), v.description("A few words: what the tool should do, or its name.")) }),
    kind: "search",
    parallel: true,
    describe: ({ query }) => describeCall(`Find a tool: ${query}`),
    run: async ({ query }) => ({ success: true, output: found(query, tools) }),
  }) as Tool;
}

/** The loop replaces a call of `use_tool` by a call of the tool that it names. It runs only when that tool does not exist. */
const useTool = defineTool({
  name: "use_tool",
  description: "Call a tool that search_tools found.",
  input: v.object({
    name: v.pipe(v.string(), v.description("The name of the tool, as search_tools gave it.")),
    arguments: v.optional(
      v.pipe(v.record(v.string(), v.unknown()), v.description("Its arguments, by its schema.")),
      {},
    ),
  }),
  kind: "other",
  parallel: false,
  describe: ({ name }) => describeCall(name),
  run: async ({ name }) =>
    failure(`No tool is called ${JSON.stringify(startOf(name, 120))}: find one with search_tools.`),
  forwards: true,
}) as Tool;

/** `mcp__server__tool` -> `server (12 tools)`. */
function serversOf(tools: readonly Tool[]): string[] {
  const counts = new Map<string, number>();
  for (const { name } of tools) {
    const server = name.split("__")[1] ?? name;
    counts.set(server, (counts.get(server) ?? 0) + 1);
  }
  return [...counts].map(([server, count]) => `${server} (${count} tools)`);
}

function found(query: string, tools: readonly Tool[]): string {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const ranked = tools
    .map((tool) => ({ tool, score: scoreOf(tool, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MOST_FOUND);
  if (ranked.length === 0) return `No tool fits. Try other words. Known servers: ${serversOf(tools).join(", ")}.`;
  const texts = ranked.map(({ tool }) => `${tool.name}\n${tool.description}\n${JSON.stringify(tool.inputSchema)}`);
  return startOf(texts.join("\n\n"), LONGEST_RESULT);
}

/** A word in the name counts more than a word in the description. */
function scoreOf({ name, description }: Tool, words: readonly string[]): number {
  const [called, described] = [name.toLowerCase(), description.toLowerCase()];
  return words.reduce((sum, word) => sum + (called.includes(word) ? 3 : 0) + (described.includes(word) ? 1 : 0), 0);
}
