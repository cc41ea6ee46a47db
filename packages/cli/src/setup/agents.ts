/** `agents`: who can answer: built in, the user's and the project's. */
import { resolve } from "node:path";
import { loadAgents } from "@chimera/agent/agents";
import { type Invocation, readConfig } from "@chimera/host";
import { requireOperand } from "../actions.js";
import { CliError } from "../errors.js";
import { textFlag } from "../flags.js";
import { printList, printReport } from "../output.js";
import { complain } from "../reported.js";
import { plain } from "../terminal/text.js";

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

type Agent = Awaited<ReturnType<typeof loadAgents>>["agents"][number];

async function load(invocation: Invocation): Promise<readonly Agent[]> {
  const { flags, process } = invocation;
  const cwd = resolve(process.cwd(), textFlag(flags, "cwd") ?? ".");
  const { paths, trust } = readConfig(invocation);
  const { agents, problems, untrusted } = await loadAgents({ home: paths.home, cwd, trusted: trust.isTrusted(cwd) });
  const left = untrusted.map((wish) => `${wish} is left out: the directory is not trusted`);
  for (const problem of [...problems, ...left]) complain(invocation, problem);
  return agents;
}
