/** From what the model wrote to a call that can run: found, parsed, validated, described; or why it cannot. */

import type { Workspace } from "@chimera/acp-schema/agent";
import type { Location, ToolKind } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import { DEEPEST_ARGS, holdsMoreThan, isDeeperThan, isJsonObject, LONGEST_ARGS, parseObject } from "../json.js";
import type { InputResult, Tool, Touches } from "../tool.js";
import type { RawCall } from "./draft.js";
import { fitArguments } from "./fit-arguments.js";
import type { Toolbox } from "./toolbox.js";

export interface Call {
  readonly id: string;
  /** As shown: the tool's own name where there is such a tool. */
  readonly name: string;
  readonly args: Record<string, unknown>;
  readonly kind: ToolKind;
  readonly title: string;
  readonly locations: readonly Location[];
  readonly plan: Runnable | Broken;
}

export interface Runnable {
  readonly tool: Tool;
  readonly input: unknown;
  readonly touches: Touches;
}

/** The model reads why, and may try again. */
interface Broken {
  readonly problem: string;
}

export async function prepareCall(raw: RawCall, toolbox: Toolbox, workspace: Workspace): Promise<Call> {
  const { tool, args, problem } = aimOf(raw, toolbox);
  const shown = {
    id: raw.id,
    name: tool?.name ?? sendableName(raw.name),
    args,
    kind: tool?.kind ?? ("other" as const),
    title: tool?.name ?? (startOf(raw.name, 120) || "unknown tool"),
    locations: [],
  };
  if (!tool) return { ...shown, plan: { problem: unknownTool(raw.name, toolbox) } };
  if (problem) return { ...shown, plan: { problem } };
  try {
    const checked: InputResult<unknown> = await tool.input["~standard"].validate(args);
    if (checked.issues) return { ...shown, plan: { problem: invalid(tool, checked.issues) } };
    const { title, locations, touches } = tool.describe(checked.value, workspace);
    return { ...shown, title, locations, plan: { tool, input: checked.value, touches } };
  } catch (error) {
    return { ...shown, plan: { problem: `${tool.name} could not take these arguments: ${(error as Error).message}` } };
  }
}

// --- internal ---

/** Parts of one call's arguments: more than a model writes in one reply. */
const MOST_PARTS = 20_000;

interface Aim {
  readonly tool?: Tool | undefined;
  readonly args: Record<string, unknown>;
  readonly problem?: string;
}

/** Which tool a call is for, with which arguments. A tool that forwards stands for the one that its arguments name. */
function aimOf(raw: RawCall, toolbox: Toolbox): Aim {
  const tool = toolbox.find(raw.name);
  const parsed = parseArgs(raw.args);
  if (!tool || parsed.problem) return { tool, ...parsed };
  const target = tool.forwards ? toolbox.find(String(parsed.args["name"])) : undefined;
  if (!target || target.forwards) return fitted(tool, parsed.args);
  const { name: _name, arguments: nested, ...flat } = parsed.args;
  const inner = typeof nested === "string" ? parseObject(nested) : (nested ?? flat);
  // A call whose arguments were lost would do more than it was meant to.
  if (!isJsonObject(inner)) return { tool: target, args: {}, problem: "arguments must be a JSON object." };
  return fitted(target, inner);
}

function fitted(tool: Tool, sent: Record<string, unknown>): Aim {
  const args = fitArguments(sent, tool.inputSchema);
  // What came as text has only now been looked into.
  const problem = args === sent ? undefined : excessIn(args);
  return problem === undefined ? { tool, args } : { tool, args: {}, problem };
}

function excessIn(args: Record<string, unknown>): string | undefined {
  if (isDeeperThan(DEEPEST_ARGS, args)) return "The arguments are nested too deeply.";
  return holdsMoreThan(MOST_PARTS, args) ? "The arguments have too many parts." : undefined;
}

/** A name nobody has goes back to the provider with the next request, which refuses what it would not call a name. */
function sendableName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unknown";
}

function parseArgs(text: string): { args: Record<string, unknown>; problem?: string } {
  if (text.length > LONGEST_ARGS) {
    return { args: {}, problem: `The arguments have ${text.length} characters, more than ${LONGEST_ARGS}: send less.` };
  }
  if (text.trim() === "") return { args: {} };
  try {
    const value: unknown = JSON.parse(text);
    if (!isJsonObject(value)) return { args: {}, problem: "The arguments must be a JSON object." };
    const problem = excessIn(value);
    return problem === undefined ? { args: value } : { args: {}, problem };
  } catch (error) {
    return {
      args: {},
      problem: `The arguments are not valid JSON (${(error as Error).message}). Send the call again.`,
    };
  }
}

function unknownTool(name: string, toolbox: Toolbox): string {
  const near = toolbox.nearest(name);
  const hint = near === undefined ? "" : ` Did you mean ${near}?`;
  return `There is no tool named ${JSON.stringify(startOf(name, 120))}.${hint} The tools are: ${toolbox.tools.map((t) => t.name).join(", ") || "none"}.`;
}

function invalid(tool: Tool, issues: NonNullable<InputResult<unknown>["issues"]>): string {
  const lines = issues.slice(0, 8).map(({ message, path }) => {
    const where = path?.map((key) => String(typeof key === "object" ? key.key : key)).join(".");
    return where ? `- ${where}: ${message}` : `- ${message}`;
  });
  return `The arguments do not fit ${tool.name}:\n${lines.join("\n")}`;
}
