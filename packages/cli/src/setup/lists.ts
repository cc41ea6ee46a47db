/** `models`, `tools`, `agents` and `commands`: lists of what is available. */
import { loadAgents } from "@chimera/agent/agents";
import { listedModels } from "@chimera/agent/facts";
import { suggestModels } from "@chimera/agent/providers";
import { type Invocation, readConfig } from "@chimera/host";
import { requireOperand } from "../actions.js";
import { CliError } from "../errors.js";
import { choiceFlag, isSet, textFlag } from "../flags.js";
import { type Column, printJson, printLines, printList, printReport } from "../output.js";
import { complain } from "../reported.js";
import { plain } from "../terminal/text.js";
import { withCore } from "../with-core.js";

/** Lists models that fit the keys that are set, with the default first. */
export async function listModels(invocation: Invocation): Promise<number> {
  const { flags, profile, process } = invocation;
  const { values } = readConfig(invocation);
  const suggested = suggestModels(process.env, profile.chain, listedModels);
  const models = [...new Set([...(values.model === null ? [] : [values.model]), ...suggested])];
  const format = isSet(flags, "json") ? "json" : choiceFlag("format", textFlag(flags, "format"), ["text", "json"]);
  if (format === "json") printJson(invocation, { default: models[0], models });
  else printLines(invocation, models);
  return 0;
}

/** Lists the tools by the names that `--allowed-tools` accepts. */
export async function listTools(invocation: Invocation): Promise<number> {
  // Ask the core, because a program may have more or fewer tools than the built-in ones, like ferret in its sandbox.
  const tools = await withCore(invocation, ({ core }) => core.tools());
  const schemas = tools.map(({ name, aliases, description, inputSchema: input_schema }) => {
    return { name, aliases, description, input_schema };
  });
  const columns: Column<(typeof tools)[number]>[] = [
    { title: "NAME", cell: ({ name }) => name },
    { title: "ALSO", cell: ({ aliases }) => aliases.join(", ") },
    { title: "DESCRIPTION", cell: ({ description }) => firstSentence(description) },
  ];
  return printList(invocation, columns, tools, schemas);
}

/** Lists the slash commands of a session in this directory: built-in ones and those from files. */
export async function listCommands(invocation: Invocation): Promise<number> {
  const commands = await withCore(invocation, async ({ core: { palette }, config: { cwd } }) => {
    for (const clash of await palette.clashes(cwd)) complain(invocation, clash);
    const builtIn = palette.commands.map((command) => ({ ...command, args: [], source: "built-in" }));
    const all = [...builtIn, ...(await palette.custom(cwd))];
    const rows = all.map(({ name, description, args, source }) => ({ name, description, args, source }));
    return rows.sort((a, b) => (a.name < b.name ? -1 : 1));
  });
  const columns: Column<(typeof commands)[number]>[] = [
    { title: "NAME", cell: ({ name }) => `/${name}` },
    { title: "SOURCE", cell: ({ source }) => source },
    { title: "DESCRIPTION", cell: ({ description }) => description },
  ];
  return printList(invocation, columns, commands, { commands });
}

export async function listAgents(invocation: Invocation): Promise<number> {
  const agents = (await load(invocation)).filter((agent) => !agent.hidden);
  const columns = (["name", "mode", "permission", "source", "description"] as const).map((field) => ({
    title: field.toUpperCase(),
    cell: (agent: Agent) => agent[field],
  }));
  return printList(invocation, columns, agents);
}

export async function showAgent(invocation: Invocation): Promise<number> {
  const name = requireOperand(invocation, "an agent: agents show <name>");
  const agent = (await load(invocation)).find((candidate) => candidate.name === name);
  if (!agent) throw new CliError("not_found", `there is no agent ${name}`);
  const { tools, model, maxSteps } = agent;
  const facts = [
    `name        ${agent.name}`,
    `description ${agent.description}`,
    `mode        ${agent.mode}`,
    `permission  ${agent.permission}`,
    `tools       ${tools === null ? "all" : tools.join(", ")}`,
    `model       ${model ?? "the session's"}`,
    `max steps   ${maxSteps ?? "the session's"}`,
    `source      ${agent.source}`,
    "",
    agent.prompt.trimEnd(),
  ];
  return printReport(invocation, agent, facts.map(plain));
}

// --- internal ---

/** The sentence that says what a tool does. One that ends in a colon introduces lines that a table has no room for. */
function firstSentence(description: string): string {
  return (/^.*?[.:](?=\s|$)/s.exec(description)?.[0] ?? description).replace(/:$/, ".");
}

type Agent = Awaited<ReturnType<typeof loadAgents>>["agents"][number];

async function load(invocation: Invocation): Promise<readonly Agent[]> {
  const { paths, trust, cwd } = readConfig(invocation);
  const { agents, problems, untrusted } = await loadAgents({ home: paths.home, cwd, trusted: trust.isTrusted(cwd) });
  const left = untrusted.map((wish) => `${wish} is left out: the directory is not trusted`);
  for (const problem of [...problems, ...left]) complain(invocation, problem);
  return agents;
}
