/** The tools that rewrite a whole file: Write with a new text, replace_in_file with a regular expression. */
import * as v from "valibot";
import type { RealPath } from "../files/real-path.js";
import { currentText, defineChange, noteSeen, refusal, requireCurrent, type Whereabouts } from "./edit/change.js";
import { replaceEvery } from "./off-thread.js";

export const writeTool = defineChange({
  name: "Write",
  aliases: ["write_file"],
  description: "Write a text file, replacing what is there; directories are made as needed.",
  input: v.object({
    path: v.string(),
    content: v.pipe(v.string(), v.description("The complete new content.")),
  }),
  verb: "Write",
  change: writtenOf,
  done: (file, { before, after }, { workspace }) => {
    noteSeen(workspace, file.path, after);
    return `${before === null ? "Created" : "Replaced"} ${file.shown} (${Buffer.byteLength(after)} bytes).`;
  },
});

export const replaceInFileTool = defineChange({
  name: "replace_in_file",
  description: "Replace every match of a JavaScript regular expression in a text file; $1 and $<name> insert groups.",
  input: v.object({
    path: v.string(),
    pattern: v.pipe(v.string(), v.description("The regular expression, without slashes.")),
    replacement: v.string(),
    flags: v.optional(v.pipe(v.string(), v.regex(/^[imsu]*$/), v.description("Any of i, m, s, u.")), ""),
  }),
  verb: "Replace in",
  change: replacementOf,
  done: (file, { count }) => `Replaced ${count} ${count === 1 ? "match" : "matches"} in ${file.shown}.`,
});

// --- internal ---

/** Keeps the byte order mark of the present file, and its line endings if they are all the same. */
async function writtenOf(
  { content }: { path: string; readonly content: string },
  file: RealPath,
  { workspace }: Whereabouts,
) {
  const before = await currentText(file.path, workspace);
  if (before === null) return { before, after: content };
  requireCurrent(file, before, workspace);
  const isCrlf = before.includes("\r\n") && !/(?<!\r)\n/.test(before) && !content.includes("\r\n");
  const lines = isCrlf ? content.replaceAll("\n", "\r\n") : content;
  return { before, after: markedAs(before, lines) };
}

const MARK = "\ufeff";

function markedAs(before: string, text: string): string {
  return before.startsWith(MARK) && !text.startsWith(MARK) ? MARK + text : text;
}

type PatternInput = { path: string; readonly pattern: string; readonly flags: string; readonly replacement: string };

async function replacementOf(
  { pattern, flags, replacement }: PatternInput,
  file: RealPath,
  { workspace, signal }: Whereabouts,
) {
  const before = await workspace.readText(file.path);
  // The first line begins after the mark.
  const searched = before.startsWith(MARK) ? before.slice(MARK.length) : before;
  const { count, text } = await replaceEvery(searched, pattern, flags, replacement, signal);
  if (count === 0) throw refusal(`Nothing in ${file.shown} matches ${pattern}.`);
  return { before, after: markedAs(before, text), count };
}
