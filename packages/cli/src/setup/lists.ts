/** `models`, `tools` and `commands`: what there is to choose from. */
import { resolve } from "node:path";
import { suggestModels } from "@chimera/agent/providers";
import { type Invocation, openCore, readConfig } from "@chimera/host";
import { choiceFlag, isSet, textFlag } from "../flags.js";
import { printJson, printLines, printList } from "../output.js";
import { complain } from "../reported.js";

/** The models worth choosing with the keys that are set, the default first. */
export async function listModels(invocation: Invocation): Promise<number> {
  const { flags, profile, process } = invocation;
  const { values } = readConfig(invocation);
  const suggested = suggestModels(process.env, profile.chain);
  const models = [...new Set([...(values.model === null ? [] : [values.model]), ...suggested])];
  const format = isSet(flags, "json") ? "json" : choiceFlag("format", textFlag(flags, "format"), ["text", "json"]);
  if (format === "json") printJson(invocation, { default: models[0], models });
  else printLines(invocation, models);
  return 0;
}

/** What the agent can do, by the names `--allowed-tools` takes. */
export async function listTools(invocation: Invocation): Promise<number> {
  const tools = await offered(invocation);
  const columns = [
    { title: "NAME", cell: (tool: (typeof tools)[number]) => tool.name },
    { title: "ALSO", cell: (tool: (typeof tools)[number]) => tool.aliases.join(", ") },
    { title: "DESCRIPTION", cell: (tool: (typeof tools)[number]) => firstSentence(tool.description) },
  ];
  const schemas = tools.map(({ name, aliases, description, inputSchema: input_schema }) => {
    return { name, aliases, description, input_schema };
  });
  return printList(invocation, columns, tools, schemas);
}

interface Row {
  readonly name: string;
  readonly description: string;
  readonly args: readonly { readonly name: string; readonly description: string }[];
  readonly source: string;
}

/** The slash commands of a session here, built in and from files. */
export async function listCommands(invocation: Invocation): Promise<number> {
  const { flags, process } = invocation;
  const cwd = resolve(process.cwd(), textFlag(flags, "cwd") ?? ".");
  const { core } = await openCore(invocation);
  const rows = new Map<string, Row>();
  try {
    const { palette } = core;
    for (const { name, description } of palette.commands)
      rows.set(name, { name, description, args: [], source: "built-in" });
    for (const clash of await palette.clashes(cwd)) complain(invocation, clash);
    for (const { name, description, args, source } of await palette.custom(cwd))
      rows.set(name, { name, description, args, source });
  } finally {
    await core.close();
  }
  const commands = [...rows.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const columns = [
    { title: "NAME", cell: (row: Row) => `/${row.name}` },
    { title: "SOURCE", cell: (row: Row) => row.source },
    { title: "DESCRIPTION", cell: (row: Row) => row.description },
  ];
  return printList(invocation, columns, commands, { commands });
}

// --- internal ---

/** Asked of the core: a program may offer more than the built-in ones, or less, as ferret does in its sandbox. */
async function offered(invocation: Invocation) {
  const { core } = await openCore(invocation);
  try {
    return await core.tools();
  } finally {
    await core.close();
  }
}

function firstSentence(text: string): string {
  return /^.*?[.:](?=\s|$)/s.exec(text)?.[0] ?? text;
}
