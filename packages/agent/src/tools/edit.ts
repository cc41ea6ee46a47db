/** The tools that change a file: Edit for one exact passage, replace_in_file for a regular expression, Write for the whole. */
import type { Workspace } from "@chimera/acp-schema/agent";
import type { ToolContent } from "@chimera/acp-schema/events";
import * as v from "valibot";
import { AgentError, isAgentError } from "../errors.js";
import { type RealPath, resolvePath } from "../files/real-path.js";
import type { ToolContext } from "../tool.js";
import { defineTool, describeFile, failure, locate } from "./define.js";
import { offThread, replaceEvery } from "./off-thread.js";

export const editTool = defineTool({
  name: "Edit",
  aliases: ["edit_file"],
  description:
    "Replace one passage of a text file. old_string must occur exactly once, so give enough of its surroundings; line " +
    "endings and a byte order mark are kept.",
  input: v.object({
    path: v.pipe(v.string(), v.description("The file, relative to the workspace or absolute.")),
    old_string: v.pipe(v.string(), v.description("The exact text to replace.")),
    new_string: v.pipe(v.string(), v.description("What takes its place.")),
  }),
  kind: "edit",
  parallel: false,
  describe: (input, workspace) => describeFile("Edit", input.path, workspace, "writes"),
  preview: previewing(editOf),
  run: async (input, context) => {
    const file = locate(input.path, context, "writes");
    const { before, after } = await editOf(input, file, context);
    const content = await publishEdit(file, before, after, context);
    return { success: true, output: `Edited ${file.shown}.`, content };
  },
});

export const replaceInFileTool = defineTool({
  name: "replace_in_file",
  description: "Replace every match of a JavaScript regular expression in a text file; $1 and $<name> insert groups.",
  input: v.object({
    path: v.pipe(v.string(), v.description("The file, relative to the workspace or absolute.")),
    pattern: v.pipe(v.string(), v.description("The regular expression, without slashes.")),
    replacement: v.string(),
    flags: v.optional(v.pipe(v.string(), v.regex(/^[imsu]*$/), v.description("Any of i, m, s, u.")), ""),
  }),
  kind: "edit",
  parallel: false,
  describe: (input, workspace) => describeFile("Replace in", input.path, workspace, "writes"),
  preview: previewing(replacementOf),
  run: async (input, context) => {
    const file = locate(input.path, context, "writes");
    const { before, after, count } = await replacementOf(input, file, context);
    if (count === 0) return failure(`Nothing in ${file.shown} matches ${input.pattern}.`);
    const content = await publishEdit(file, before, after, context);
    return {
      success: true,
      output: `Replaced ${count} ${count === 1 ? "match" : "matches"} in ${file.shown}.`,
      content,
    };
  },
});

export const writeTool = defineTool({
  name: "Write",
  aliases: ["write_file"],
  description: "Write a text file, replacing what is there; directories are made as needed.",
  input: v.object({
    path: v.pipe(v.string(), v.description("The file, relative to the workspace or absolute.")),
    content: v.pipe(v.string(), v.description("The complete new content.")),
  }),
  kind: "edit",
  parallel: false,
  describe: (input, workspace) => describeFile("Write", input.path, workspace, "writes"),
  preview: previewing(async ({ content }, file, { workspace }) => ({
    before: await currentText(file.path, workspace),
    after: content,
  })),
  run: async (input, context) => {
    const file = locate(input.path, context, "writes");
    const before = await currentText(file.path, context.workspace);
    const content = await publishEdit(file, before, input.content, context);
    const verb = before === null ? "Created" : "Replaced";
    return { success: true, output: `${verb} ${file.shown} (${Buffer.byteLength(input.content)} bytes).`, content };
  },
});

// --- internal ---

type Place = Pick<ToolContext, "workspace" | "signal">;

interface Change {
  readonly before: string | null;
  readonly after: string;
}

/** The change as a diff. What lies outside of the workspace is not read before somebody allows it: then the arguments have to do. */
function previewing<I extends { path: string }>(change: (input: I, file: RealPath, place: Place) => Promise<Change>) {
  return async (input: I, place: Place): Promise<ToolContent[]> => {
    const file = resolvePath(input.path, place.workspace);
    return file.inside ? diffOf(file, await change(input, file, place)) : [];
  };
}

function diffOf({ path }: RealPath, { before, after }: Change): ToolContent[] {
  const isShown = (before?.length ?? 0) + after.length <= MAX_SHOWN;
  return isShown ? [{ type: "diff", path, old_text: before, new_text: after }] : [];
}

type EditInput = { path: string; readonly old_string: string; readonly new_string: string };

async function editOf(
  { old_string: old, new_string: replacement }: EditInput,
  file: RealPath,
  { workspace, signal }: Place,
) {
  const before = await workspace.readText(file.path);
  return { before, after: await replaceOnce({ text: before, old, replacement, name: file.shown }, signal) };
}

type PatternInput = { path: string; readonly pattern: string; readonly flags: string; readonly replacement: string };

async function replacementOf(
  { pattern, flags, replacement }: PatternInput,
  file: RealPath,
  { workspace, signal }: Place,
) {
  const before = await workspace.readText(file.path);
  const { count, text } = await replaceEvery(before, pattern, flags, replacement, signal);
  return { before, after: text, count };
}

/** Beyond this many characters a change is described, not shown. */
const MAX_SHOWN = 256 * 1024;

/** Writes a text file so that undo has what was there and readers see the change; `before` is null for a new file. */
async function publishEdit(
  file: RealPath,
  before: string | null,
  after: string,
  context: ToolContext,
): Promise<ToolContent[]> {
  await context.workspace.willWrite(file.path);
  await context.workspace.writeText(file.path, after);
  const shown = (before?.length ?? 0) + after.length <= MAX_SHOWN;
  const diff = shown ? await unifiedDiff(file.shown, before ?? "", after) : header(file.shown);
  context.emit({ type: "file_edit", metadata: { path: file.path, diff, change: before === null ? "add" : "update" } });
  return diffOf(file, { before, after });
}

interface Replacement {
  readonly text: string;
  readonly old: string;
  readonly replacement: string;
  /** What the file is called. */
  readonly name: string;
}

const MAX_PLACES = 20;
const MAX_COMPARISONS = 20_000_000;
/** A longer text is searched on another thread. */
const SHORT_TEXT = 64 * 1024;

/** Exactly one match or an error that helps; a passage written with `\n` also finds its place in a `\r\n` file. */
async function replaceOnce({ text, old, replacement, name }: Replacement, signal: AbortSignal): Promise<string> {
  if (old === "") throw new AgentError("edit_no_match", "old_string is empty: use Write to make or replace a file.");
  if (old === replacement) throw new AgentError("edit_no_match", "old_string and new_string are the same.");
  const exact = await placesOf(text, old, name, signal);
  if (exact.length > 0) return spliceAt(text, single(exact, name), old, replacement);
  const crlf = (part: string) => part.replace(/\r?\n/g, "\r\n");
  const converted = text.includes("\r\n") ? await placesOf(text, crlf(old), name, signal) : [];
  if (converted.length > 0) return spliceAt(text, single(converted, name), crlf(old), crlf(replacement));
  const near = await offThread(findNearMiss, [text, old, MAX_COMPARISONS], { signal }).catch(() => "unknown" as const);
  signal.throwIfAborted();
  throw new AgentError("edit_no_match", `old_string does not occur in ${name}.${hint(near)}`);
}

async function placesOf(text: string, part: string, name: string, signal: AbortSignal): Promise<Spot[]> {
  const args: [string, string, number] = [text, part, MAX_PLACES];
  if (text.length <= SHORT_TEXT) return findPlaces(...args);
  return offThread(findPlaces, args, { signal }).catch((cause: unknown) => {
    signal.throwIfAborted();
    const { message } = cause as Error;
    throw new AgentError("too_slow", `old_string cannot be looked for in ${name}: ${message}.`, { cause });
  });
}

interface Spot {
  readonly at: number;
  /** Counted from 1. */
  readonly line: number;
}

function single(found: readonly Spot[], name: string): number {
  const [first] = found;
  if (first && found.length === 1) return first.at;
  const lines = found.slice(0, MAX_PLACES).map(({ line }) => line);
  const more = found.length > MAX_PLACES ? " and more" : "";
  throw new AgentError(
    "edit_many_matches",
    `old_string occurs ${more ? `more than ${MAX_PLACES}` : found.length} times in ${name} (lines ${lines.join(", ")}${more}): give more of its surroundings.`,
  );
}

function spliceAt(text: string, at: number, old: string, replacement: string): string {
  return text.slice(0, at) + replacement + text.slice(at + old.length);
}

function hint(near: { readonly first: number; readonly last: number } | "nowhere" | "unknown"): string {
  if (near === "unknown") return "";
  if (near === "nowhere") return " Read the file again: it may have changed.";
  return ` Lines ${near.first}-${near.last} differ from it only in white space: copy them exactly.`;
}

/** Where the passage stands, at most one place more than asked for. May run on another thread: it uses nothing from outside. */
function findPlaces(text: string, part: string, most: number): Spot[] {
  const found: Spot[] = [];
  let line = 1;
  let newline = text.indexOf("\n");
  for (let at = text.indexOf(part); at !== -1 && found.length <= most; at = text.indexOf(part, at + 1)) {
    for (; newline !== -1 && newline < at; newline = text.indexOf("\n", newline + 1)) line += 1;
    found.push({ at, line });
  }
  return found;
}

/** Most misses are white space: which lines have the same words. May run on another thread: it uses nothing from outside. */
function findNearMiss(
  text: string,
  old: string,
  most: number,
): { first: number; last: number } | "nowhere" | "unknown" {
  const squeeze = (line: string) => line.trim().replace(/\s+/g, " ");
  const wanted = old.split("\n").map(squeeze);
  while (wanted.length > 0 && wanted[0] === "") wanted.shift();
  while (wanted.length > 0 && wanted.at(-1) === "") wanted.pop();
  if (wanted.length === 0) return "unknown";
  const lines = text.split("\n").map(squeeze);
  if (lines.length * wanted.length > most) return "unknown";
  const first = lines.findIndex((_, start) => wanted.every((line, offset) => lines[start + offset] === line));
  return first === -1 ? "nowhere" : { first: first + 1, last: first + wanted.length };
}

/** Null when there is none; a binary or oversized file may be replaced, but has no text to compare with. */
async function currentText(path: string, workspace: Workspace): Promise<string | null> {
  try {
    return await workspace.readText(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    if (isAgentError(error) && (error.code === "not_text" || error.code === "file_too_large")) return "";
    throw error;
  }
}

async function unifiedDiff(path: string, before: string, after: string): Promise<string> {
  const { unifiedHunks } = await import("@chimera/snapshot-store/files");
  return header(path) + ((await unifiedHunks(before, after)) ?? "");
}

function header(path: string): string {
  return `--- ${path}\n+++ ${path}\n`;
}
