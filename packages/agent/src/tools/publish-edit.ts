/** Writes a text file the way every editing tool does: undo is told before, readers see the change after. */
import type { ToolContent } from "@chimera/acp-schema/events";
import type { RealPath } from "../files/real-path.js";
import type { ToolContext } from "../tool.js";

/** Beyond this many characters a change is described, not shown. */
const MAX_SHOWN = 256 * 1024;
const DIFF_BUDGET_MS = 250;

/** Returns the content that shows the change; `before` is null for a new file. */
export async function publishEdit(
  file: RealPath,
  before: string | null,
  after: string,
  context: ToolContext,
): Promise<ToolContent[]> {
  await context.workspace.willWrite(file.path);
  await context.workspace.writeText(file.path, after);
  const shown = (before?.length ?? 0) + after.length <= MAX_SHOWN;
  const diff = shown ? await unifiedDiff(file.shown, before ?? "", after) : tooLarge(file.shown);
  context.emit({ type: "file_edit", metadata: { path: file.path, diff, change: before === null ? "add" : "update" } });
  return shown ? [{ type: "diff", path: file.path, old_text: before, new_text: after }] : [];
}

// --- internal ---

async function unifiedDiff(path: string, before: string, after: string): Promise<string> {
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import("diff");
  const options = { context: 3, timeout: DIFF_BUDGET_MS, headerOptions: FILE_HEADERS_ONLY };
  return createTwoFilesPatch(path, path, before, after, undefined, undefined, options) ?? tooLarge(path);
}

function tooLarge(path: string): string {
  return `--- ${path}\n+++ ${path}\n`;
}
