/** Prepares the call that the model wrote: finds its tool, parses, validates and describes it; or says why it cannot run. */
import type { Touches, Workspace } from "@chimera/acp-schema/agent";
import type { Location, ToolKind } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonObject } from "../json.js";
import {
  DEEPEST_ARGS,
  holdsMoreThan,
  isDeeperThan,
  isJsonObject,
  LONGEST_ARGS,
  parseJson,
  parseObject,
} from "../json.js";
import type { RawCall } from "../providers/model.js";
import type { Tool } from "../tool.js";
import { fitArguments } from "./fit-arguments.js";
import type { Toolbox } from "./toolbox.js";

export interface Call {
  readonly id: string;
  /** The name to show: the tool's own name if there is such a tool. */
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

/** The model reads the problem and may try again. */
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
    const checked = await tool.input["~standard"].validate(args);
    if (checked.issues) return { ...shown, plan: { problem: invalid(tool, checked.issues) } };
    const { title, locations, touches } = tool.describe(checked.value, workspace);
    return { ...shown, title, locations, plan: { tool, input: checked.value, touches } };
  } catch (error) {
    return { ...shown, plan: { problem: `${tool.name} could not take these arguments: ${(error as Error).message}` } };
  }
}

type WrittenCall = Pick<RawCall, "name" | "args">;

/**
 * Finds calls that a model wrote as text. Small local models often do, in one of a few forms: a JSON object with a name and
 * arguments, such objects between `<tool_call>` tags, or a function element with parameter elements. Returns none unless the text
 * consists only of calls and each of them names a tool, so that an answer which shows JSON stays an answer.
 */
export function callsInText(text: string, toolbox: Toolbox): WrittenCall[] {
  if (text.length > LONGEST || !/^\s*(```|[[{<])/.test(text)) return [];
  const bare = withoutFence(text.trim());
  const calls = bare.startsWith("<") ? taggedCalls(bare) : jsonCalls(bare);
  return calls?.every((call) => toolbox.find(call.name)) ? calls : [];
}

// --- internal ---

/** Most parts in one call's arguments: more than a model writes in one reply. */
const MOST_PARTS = 20_000;

interface Aim {
  readonly tool?: Tool | undefined;
  readonly args: Record<string, unknown>;
  readonly problem?: string;
}

/** Which tool a call is for, and its arguments. A call of a forwarding tool is for the tool that its arguments name. */
function aimOf(raw: RawCall, toolbox: Toolbox): Aim {
  const tool = toolbox.find(raw.name);
  const parsed = parseArgs(raw.args);
  if (!tool || parsed.problem) return { tool, ...parsed };
  const target = tool.forwards ? toolbox.find(String(parsed.args["name"])) : undefined;
  if (!target || target.forwards) return fitted(tool, parsed.args);
  const { name: _name, arguments: nested, ...flat } = parsed.args;
  const inner = typeof nested === "string" ? parseObject(nested) : (nested ?? flat);
  // Without its arguments the call could do more than the model meant.
  if (!isJsonObject(inner)) return { tool: target, args: {}, problem: "arguments must be a JSON object." };
  return fitted(target, inner);
}

function fitted(tool: Tool, sent: Record<string, unknown>): Aim {
  const args = fitArguments(sent, tool.inputSchema);
  // Arguments that were JSON inside a text were parsed only just now, so check them too.
  const problem = args === sent ? undefined : excessIn(args);
  return problem === undefined ? { tool, args } : { tool, args: {}, problem };
}

function excessIn(args: Record<string, unknown>): string | undefined {
  if (isDeeperThan(DEEPEST_ARGS, args)) return "The arguments are nested too deeply.";
  return holdsMoreThan(MOST_PARTS, args) ? "The arguments have too many parts." : undefined;
}

/** The next request sends an unknown name back to the provider, which refuses names with other characters. */
function sendableName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unknown";
}

function parseArgs(text: string): { args: Record<string, unknown>; problem?: string } {
  if (text.length > LONGEST_ARGS) {
    return { args: {}, problem: `The arguments have ${text.length} characters, more than ${LONGEST_ARGS}: send less.` };
  }
  if (text.trim() === "") return { args: {} };
  try {
    const said: unknown = JSON.parse(text);
    // Some models encode the arguments twice.
    const value = typeof said === "string" ? (parseObject(said) ?? said) : said;
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
  return `No tool is called ${JSON.stringify(startOf(name, 120))}.${hint} Known tools: ${toolbox.tools.map((t) => t.name).join(", ") || "none"}.`;
}

function invalid(tool: Tool, issues: readonly StandardSchemaV1.Issue[]): string {
  const lines = issues.slice(0, 8).map(({ message, path }) => {
    const where = path?.map((key) => String(typeof key === "object" ? key.key : key)).join(".");
    return where ? `- ${where}: ${message}` : `- ${message}`;
  });
  return `The arguments do not fit ${tool.name}:\n${lines.join("\n")}`;
}

/** Most characters in a text that is searched for calls. The patterns below are linear, but a text can have any size. */
const LONGEST = 256 * 1024;
const MOST_CALLS = 16;

function withoutFence(text: string): string {
  const fenced = /^```[\w-]*\n([\s\S]*)\n```$/.exec(text);
  return (fenced?.[1] ?? text).trim();
}

/** `<tool_call>{...}</tool_call>` elements in a row, or `<function=Read>` elements with or without that tag around them. */
function taggedCalls(text: string): WrittenCall[] | null {
  const calls: WrittenCall[] = [];
  let rest = text;
  while (rest !== "" && calls.length < MOST_CALLS) {
    const mark = MARKS.find(({ open }) => rest.startsWith(open));
    if (!mark) return null;
    const end = rest.indexOf(mark.close, mark.open.length);
    if (end === -1) return null;
    const inner = rest.slice(mark.open.length, end).trim();
    const found =
      mark.open === FUNCTION ? functionCall(inner) : inner.startsWith(FUNCTION) ? taggedCalls(inner) : jsonCalls(inner);
    if (!found) return null;
    calls.push(...found);
    rest = rest.slice(end + mark.close.length).trim();
  }
  return rest === "" && calls.length > 0 ? calls : null;
}

const FUNCTION = "<function=";
const MARKS = [
  { open: "<tool_call>", close: "</tool_call>" },
  { open: "<tool_calls>", close: "</tool_calls>" },
  { open: FUNCTION, close: "</function>" },
];

/** `Read>\n<parameter=path>\na.txt\n</parameter>`. All values are text, which `fitArguments` converts by the tool's schema. */
function functionCall(text: string): WrittenCall[] | null {
  const nameEnd = text.indexOf(">");
  if (nameEnd === -1) return null;
  const args: Record<string, string> = {};
  let rest = text.slice(nameEnd + 1).trim();
  while (rest !== "") {
    const head = /^<parameter=([\w.-]+)>/.exec(rest);
    const end = rest.indexOf("</parameter>");
    if (!head?.[1] || end === -1) return null;
    args[head[1]] = rest.slice(head[0].length, end).replace(/^\n/, "").replace(/\n$/, "");
    rest = rest.slice(end + "</parameter>".length).trim();
  }
  return [{ name: text.slice(0, nameEnd).trim(), args: JSON.stringify(args) }];
}

/** Accepts one call, a list of calls, or one call per line. */
function jsonCalls(text: string): WrittenCall[] | null {
  const values = parsedWhole(text) ?? parsedLines(text);
  if (!values || values.length === 0 || values.length > MOST_CALLS) return null;
  const calls = values.map(callOf);
  return calls.every((call) => call !== null) ? calls : null;
}

function parsedWhole(text: string): unknown[] | null {
  const value = parseJson(text);
  return value === undefined ? null : [value].flat();
}

function parsedLines(text: string): unknown[] | null {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length > MOST_CALLS) return null;
  const values = lines.map(parsedWhole);
  return values.every((value) => value !== null) ? values.flat() : null;
}

/** The keys that models use for a call's arguments and for its name. */
const ARGUMENTS = ["arguments", "parameters", "args", "input"];
const NAMES = ["name", "tool", "function", "tool_name"];

function callOf(value: unknown): WrittenCall | null {
  if (!isJsonObject(value)) return null;
  const object = isJsonObject(value["function"]) ? (value["function"] as JsonObject) : value;
  const name = NAMES.map((key) => object[key]).find((candidate) => typeof candidate === "string");
  const args = ARGUMENTS.map((key) => object[key]).find((candidate) => candidate !== undefined);
  if (typeof name !== "string" || name === "") return null;
  if (typeof args === "string") return { name, args };
  return isJsonObject(args) ? { name, args: JSON.stringify(args) } : null;
}
