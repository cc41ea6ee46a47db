/** Edit: one exact passage of a file for another. */
import * as v from "valibot";
import { AgentError } from "../errors.js";
import { defineTool, describeFile, locate } from "./define.js";
import { publishEdit } from "./publish-edit.js";

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
  run: async (input, context) => {
    const file = locate(input.path, context, "writes");
    const before = await context.workspace.readText(file.path);
    const after = replaceOnce(before, input.old_string, input.new_string, file.shown);
    const content = await publishEdit(file, before, after, context);
    return { success: true, output: `Edited ${file.shown}.`, content };
  },
});

/** Exactly one match or an error that helps; a passage written with `\n` also finds its place in a `\r\n` file. */
export function replaceOnce(text: string, old: string, replacement: string, name: string): string {
  if (old === "") throw new AgentError("edit_no_match", "old_string is empty: use Write to make or replace a file.");
  if (old === replacement) throw new AgentError("edit_no_match", "old_string and new_string are the same.");
  const exact = places(text, old);
  if (exact.length > 0) return spliceAt(text, single(exact, text, name), old, replacement);
  const crlf = (part: string) => part.replace(/\r?\n/g, "\r\n");
  const converted = text.includes("\r\n") ? places(text, crlf(old)) : [];
  if (converted.length > 0) return spliceAt(text, single(converted, text, name), crlf(old), crlf(replacement));
  throw new AgentError("edit_no_match", `old_string does not occur in ${name}.${nearMiss(text, old)}`);
}

// --- internal ---

const MAX_PLACES = 20;
const MAX_COMPARISONS = 20_000_000;

function places(text: string, part: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(part); at !== -1 && found.length <= MAX_PLACES; at = text.indexOf(part, at + 1)) {
    found.push(at);
  }
  return found;
}

function single(found: readonly number[], text: string, name: string): number {
  if (found.length === 1) return found[0] as number;
  const lines = found.slice(0, MAX_PLACES).map((at) => lineAt(text, at));
  const more = found.length > MAX_PLACES ? " and more" : "";
  throw new AgentError(
    "edit_many_matches",
    `old_string occurs ${more ? `more than ${MAX_PLACES}` : found.length} times in ${name} (lines ${lines.join(", ")}${more}): give more of its surroundings.`,
  );
}

function spliceAt(text: string, at: number, old: string, replacement: string): string {
  return text.slice(0, at) + replacement + text.slice(at + old.length);
}

function lineAt(text: string, at: number): number {
  let line = 1;
  for (let newline = text.indexOf("\n"); newline !== -1 && newline < at; newline = text.indexOf("\n", newline + 1))
    line += 1;
  return line;
}

/** Most misses are white space: says where the same words stand. */
function nearMiss(text: string, old: string): string {
  const squeeze = (line: string) => line.trim().replace(/\s+/g, " ");
  const wanted = old.split("\n").map(squeeze);
  while (wanted.length > 0 && wanted[0] === "") wanted.shift();
  while (wanted.length > 0 && wanted.at(-1) === "") wanted.pop();
  if (wanted.length === 0) return "";
  const lines = text.split("\n").map(squeeze);
  if (lines.length * wanted.length > MAX_COMPARISONS) return "";
  const first = lines.findIndex((_, start) => wanted.every((line, offset) => lines[start + offset] === line));
  if (first === -1) return " Read the file again: it may have changed.";
  return ` Lines ${first + 1}-${first + wanted.length} differ from it only in white space: copy them exactly.`;
}
