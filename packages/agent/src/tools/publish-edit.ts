/** Writes a text file the way every editing tool does: undo captures what was there, then readers see the change. */
import type { ToolContent } from "@chimera/acp-schema/events";
import type { RealPath } from "../files/real-path.js";
import type { ToolContext } from "../tool.js";

/** Beyond this many characters a change is described, not shown. */
const MAX_SHOWN = 256 * 1024;

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
  const diff = shown ? await unifiedDiff(file.shown, before ?? "", after) : header(file.shown);
  context.emit({ type: "file_edit", metadata: { path: file.path, diff, change: before === null ? "add" : "update" } });
  return shown ? [{ type: "diff", path: file.path, old_text: before, new_text: after }] : [];
}

// --- internal ---

async function unifiedDiff(path: string, before: string, after: string): Promise<string> {
  const { unifiedHunks } = await import("@chimera/snapshot-store/files");
  return header(path) + ((await unifiedHunks(before, after)) ?? "");
}

function header(path: string): string {
  return `--- ${path}\n+++ ${path}\n`;
}
