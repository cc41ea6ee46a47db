/**
 * Calls that a model wrote as text. Small local models often do, in one of a few habits: a JSON object with a name and
 * arguments, such objects between `<tool_call>` marks, or a function element with parameter elements. A text counts only when
 * nothing but calls is in it and each names a tool, so that an answer which shows JSON stays an answer.
 */
import { isJsonObject, type JsonObject } from "../json.js";
import type { Toolbox } from "./toolbox.js";

export interface WrittenCall {
  readonly name: string;
  /** JSON text. */
  readonly args: string;
}

/** Empty when the text is an answer. */
export function callsInText(text: string, toolbox: Toolbox): WrittenCall[] {
  if (text.length > LONGEST || !/^\s*(```|[[{<])/.test(text)) return [];
  const bare = withoutFence(text.trim());
  const calls = bare.startsWith("<") ? taggedCalls(bare) : jsonCalls(bare);
  return calls?.every((call) => toolbox.find(call.name)) ? calls : [];
}

// --- internal ---

/** More than any call that is worth reading this way; the patterns below are linear, but a text may be of any size. */
const LONGEST = 256 * 1024;
const MOST_CALLS = 16;

function withoutFence(text: string): string {
  const fenced = /^```[\w-]*\n([\s\S]*)\n```$/.exec(text);
  return (fenced?.[1] ?? text).trim();
}

/** `<tool_call>{...}</tool_call>`, one after the other, or `<function=Read>` elements with or without that mark. */
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

/** `Read>\n<parameter=path>\na.txt\n</parameter>`: values are text, which the tool's schema turns into what it wants. */
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

/** One call, a list of calls, or one call a line. */
function jsonCalls(text: string): WrittenCall[] | null {
  const values = parsedWhole(text) ?? parsedLines(text);
  if (!values || values.length === 0 || values.length > MOST_CALLS) return null;
  const calls = values.map(callOf);
  return calls.every((call) => call !== null) ? calls : null;
}

function parsedWhole(text: string): unknown[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [value];
  } catch {
    return null;
  }
}

function parsedLines(text: string): unknown[] | null {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length > MOST_CALLS) return null;
  const values = lines.map(parsedWhole);
  return values.every((value) => value !== null) ? values.flat() : null;
}

/** The names under which models put a call's arguments, and its name. */
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
