/** Read: reads a text file or a part of it, or shows a picture to a model that accepts pictures. */
import { setImmediate } from "node:timers/promises";
import { startOf } from "@chimera/acp-schema/text";
import * as v from "valibot";
import { imageType, looksBinary, MAX_TEXT_BYTES, readCanonical, readHead } from "../files/canonical-file.js";
import type { RealPath } from "../files/real-path.js";
import { MAX_PICTURE_BYTES, type ToolImage, type ToolOutcome } from "../tool.js";
import { defineTool, describeFile, failure, locate, MAX_OUTPUT } from "./define.js";
import { noteSeen } from "./edit/change.js";
import { numbered } from "./edit/line-numbers.js";

const HEAD_BYTES = 8192;
/** Characters to search before other work may run. */
const PIECE = 1024 * 1024;
const NEWLINE = 10;
const count = v.pipe(v.number(), v.integer(), v.minValue(1));

export const readTool = defineTool({
  name: "Read",
  aliases: ["read_file"],
  description:
    "Read a text file of the workspace, whole or a range of lines, each after its number and a tab. Long files come in parts: " +
    "the last line of the result says where to go on. Pictures (PNG, JPEG, GIF, WebP) are shown to models that see.",
  input: v.object({
    path: v.pipe(v.string(), v.description("The file, relative to the workspace or absolute.")),
    offset: v.optional(v.pipe(count, v.description("The first line to read, counted from 1."))),
    limit: v.optional(v.pipe(count, v.description("How many lines to read."))),
  }),
  kind: "read",
  parallel: true,
  describe: (input, workspace) => describeFile("Read", input.path, workspace, "reads", input.offset),
  run: async (input, context) => {
    const file = locate(input.path, context, "reads");
    const special = await nonText(file);
    if (special) return special;
    const text = await context.workspace.readText(file.path);
    context.emit({ type: "file_open", metadata: { path: file.path, ...(input.offset && { line: input.offset }) } });
    const output = await selectLines(text, input.offset ?? 1, input.limit);
    // Let other work run between decoding, counting and digesting a large file.
    await setImmediate();
    noteSeen(context.workspace, file.path, text);
    return { success: true, output };
  },
});

// --- internal ---

/** The result for a file that is not text; null for text. A file that exists only in an editor's buffer is text. */
async function nonText(file: RealPath): Promise<ToolOutcome | null> {
  const probe = await readHead(file.path, HEAD_BYTES).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (probe === null) return null;
  const mimeType = imageType(probe.head);
  if (mimeType) return picture(file, mimeType, probe.size);
  if (looksBinary(probe.head)) {
    return failure(`${file.shown} is a binary file of ${probe.size} bytes; its content is not text.`);
  }
  if (probe.size > MAX_TEXT_BYTES) {
    return failure(`${file.shown} has ${probe.size} bytes, too many to read at once: search it instead.`);
  }
  return null;
}

async function picture(file: RealPath, mimeType: ToolImage["mimeType"], size: number): Promise<ToolOutcome> {
  if (size > MAX_PICTURE_BYTES) {
    return failure(`${file.shown} is a picture of ${size} bytes; at most ${MAX_PICTURE_BYTES} can be shown.`);
  }
  const data = (await readCanonical(file.path, MAX_PICTURE_BYTES)).toString("base64");
  return { success: true, output: `${file.shown}: ${mimeType}, ${size} bytes`, images: [{ mimeType, data }] };
}

async function selectLines(text: string, first: number, limit: number | undefined): Promise<string> {
  const { start, lines } = await lineStart(text, first);
  const total = text === "" || text.endsWith("\n") ? lines - 1 : lines;
  if (total === 0) return "[the file is empty]";
  if (first > total) return `[the file has ${total} lines]`;
  const wanted = Math.min(total - first + 1, limit ?? total);
  const part = text.slice(start, start + MAX_OUTPUT + 1).replace(/^\ufeff/, "");
  const { count, body } = fit(part.split(/\r?\n/), first, wanted);
  const last = first - 1 + count;
  return last === total && first === 1
    ? body
    : `${body}\n[lines ${first}-${last} of ${total}${last < total ? `; continue with offset ${last + 1}` : ""}]`;
}

/** Finds the start of a line and counts all lines. Works in pieces, because a file may have millions of lines. */
async function lineStart(text: string, line: number): Promise<{ start: number; lines: number }> {
  let lines = 1;
  let start = line === 1 ? 0 : text.length;
  for (let at = 0; at < text.length; at += 1) {
    if (at % PIECE === PIECE - 1) await setImmediate();
    if (text.charCodeAt(at) !== NEWLINE) continue;
    lines += 1;
    if (lines === line) start = at + 1;
  }
  return { start, lines };
}

/** Takes as many whole lines as a result can hold, but at least one, which is cut if it is too long. */
function fit(lines: readonly string[], first: number, wanted: number): { count: number; body: string } {
  const fitting: string[] = [];
  let size = 0;
  for (const line of lines.slice(0, wanted)) {
    const shown = numbered(line, first + fitting.length);
    size += shown.length + 1;
    if (size > MAX_OUTPUT) break;
    fitting.push(shown);
  }
  if (fitting.length > 0) return { count: fitting.length, body: fitting.join("\n") };
  return { count: 1, body: `${startOf(numbered(lines[0] ?? "", first), MAX_OUTPUT)} [line cut]` };
}
