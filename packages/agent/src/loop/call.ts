/** From what the model wrote to a call that can run: found, parsed, validated, described; or why it cannot. */
import type { Location, ToolKind } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import { holdsMoreThan, isDeeperThan, isJsonObject } from "../json.js";
import type { Workspace } from "../port.js";
import type { InputResult, Tool, Touches } from "../tool.js";
import type { RawCall } from "./step.js";
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

export async function prepareCall(raw: RawCall, id: string, toolbox: Toolbox, workspace: Workspace): Promise<Call> {
  const tool = toolbox.find(raw.name);
  const parsed = parseArgs(raw.args);
  const shown = {
    id,
    name: tool?.name ?? sendableName(raw.name),
    args: parsed.args,
    kind: tool?.kind ?? ("other" as const),
    title: tool?.name ?? (startOf(raw.name, 120) || "unknown tool"),
    locations: [],
  };
  if (!tool) return { ...shown, plan: { problem: unknownTool(raw.name, toolbox) } };
  if (parsed.problem) return { ...shown, plan: { problem: parsed.problem } };
  try {
    const checked: InputResult<unknown> = await tool.input["~standard"].validate(parsed.args);
    if (checked.issues) return { ...shown, plan: { problem: invalid(tool, checked.issues) } };
    const { title, locations, touches } = tool.describe(checked.value, workspace);
    return { ...shown, title, locations, plan: { tool, input: checked.value, touches } };
  } catch (error) {
    return { ...shown, plan: { problem: `${tool.name} could not take these arguments: ${(error as Error).message}` } };
  }
}

/**
 * Gives each call an id that is new to the conversation and that every provider accepts, whatever the model sent: some
 * servers send none, or the same one each time.
 */
export function uniqueId(wanted: string, used: Set<string>, turn: number): string {
  let id = /^[A-Za-z0-9_-]{1,40}$/.test(wanted) ? wanted : `call-${turn}-${used.size}`;
  for (let n = used.size; used.has(id); n++) id = `call-${turn}-${n}`;
  used.add(id);
  return id;
}

// --- internal ---

/** A document, as an editor's tool may take it, nests four levels for each one that a person sees. */
const DEEPEST_ARGS = 64;
/** Characters of one call's arguments, and parts in them: more than a model writes in one reply. */
const LONGEST_ARGS = 1024 * 1024;
const MOST_PARTS = 20_000;

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
    if (isDeeperThan(DEEPEST_ARGS, value)) return { args: {}, problem: "The arguments are nested too deeply." };
    if (holdsMoreThan(MOST_PARTS, value)) return { args: {}, problem: "The arguments have too many parts." };
    return { args: value };
  } catch (error) {
    return {
      args: {},
      problem: `The arguments are not valid JSON (${(error as Error).message}). Send the call again.`,
    };
  }
}

function unknownTool(name: string, toolbox: Toolbox): string {
  return `There is no tool named ${JSON.stringify(startOf(name, 120))}. The tools are: ${toolbox.tools.map((t) => t.name).join(", ") || "none"}.`;
}

function invalid(tool: Tool, issues: NonNullable<InputResult<unknown>["issues"]>): string {
  const lines = issues.slice(0, 8).map(({ message, path }) => {
    const where = path?.map((key) => String(typeof key === "object" ? key.key : key)).join(".");
    return where ? `- ${where}: ${message}` : `- ${message}`;
  });
  return `The arguments do not fit ${tool.name}:\n${lines.join("\n")}`;
}
