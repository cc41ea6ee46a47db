/** A change of a text file: shown before it is made, announced to undo, written, and remembered as what the model knows of the file. */
import { createHash } from "node:crypto";
import type { Workspace } from "@chimera/acp-schema/agent";
import type { ToolContent } from "@chimera/acp-schema/events";
import { AgentError, isAgentError } from "../../errors.js";
import { removeCanonical } from "../../files/canonical-file.js";
import { type RealPath, resolvePath } from "../../files/real-path.js";
import type { Tool, ToolContext } from "../../tool.js";
import { defineTool, describeFile, locate, type ToolParts } from "../define.js";

export type Whereabouts = Pick<ToolContext, "workspace" | "signal">;

export interface Change {
  /** Null for a new file. */
  readonly before: string | null;
  /** Null for a file that goes. */
  readonly after: string | null;
}

/**
 * A tool that changes one file, which it names by `path`. The change is shown as a diff before it is made; what lies outside of the
 * workspace is not read before somebody allows it: then the arguments have to do.
 */
export function defineChange<I extends { path: string }, C extends Change>(
  parts: Pick<ToolParts<I>, "name" | "aliases" | "description" | "input"> & ChangeParts<I, C>,
): Tool<I> {
  const { verb, change: changeOf, done, ...named } = parts;
  return defineTool<I>({
    ...named,
    kind: "edit",
    parallel: false,
    describe: (input, workspace) => describeFile(verb, input.path, workspace, "writes"),
    preview: async (input, place) => {
      const file = resolvePath(input.path, place.workspace);
      return file.inside ? diffOf(file, await changeOf(input, file, place)) : [];
    },
    run: async (input, context) => {
      const file = locate(input.path, context, "writes");
      const change = await changeOf(input, file, context);
      const content = await publish(file, change, context);
      return { success: true, output: done(file, change, context), content };
    },
  });
}

/** What differs between tools that change a file. */
interface ChangeParts<I, C> {
  /** In the title of a call, before the name of the file. */
  readonly verb: string;
  /** Works the change out, or throws why it cannot be made. */
  change(input: I, file: RealPath, place: Whereabouts): Promise<C>;
  /** What the model reads of a change that was made. */
  done(file: RealPath, change: C, context: ToolContext): string;
}

export function kindOf({ before, after }: Change): "add" | "delete" | "update" {
  return before === null ? "add" : after === null ? "delete" : "update";
}

export function diffOf({ path }: RealPath, { before, after }: Change): ToolContent[] {
  const isShown = (before?.length ?? 0) + (after?.length ?? 0) <= MAX_SHOWN;
  return isShown ? [{ type: "diff", path, old_text: before, new_text: after ?? "" }] : [];
}

/** Makes the change so that undo has what was there and readers see it. */
export async function publish(file: RealPath, change: Change, context: ToolContext): Promise<ToolContent[]> {
  const { workspace } = context;
  const { before, after } = change;
  const isKnown = before !== null && knowledge(workspace, file.path, before) === "current";
  await workspace.willWrite(file.path);
  if (after === null) await removeCanonical(file.path);
  else await workspace.writeText(file.path, after);
  if (after !== null && (isKnown || before === null)) noteSeen(workspace, file.path, after);
  const isShown = (before?.length ?? 0) + (after?.length ?? 0) <= MAX_SHOWN;
  const diff = isShown ? await unifiedDiff(file.shown, before ?? "", after ?? "") : header(file.shown);
  context.emit({ type: "file_edit", metadata: { path: file.path, diff, change: kindOf(change) } });
  return diffOf(file, change);
}

/** What stands in a file; null when there is none. A binary or oversized file may be replaced, but has no text to compare with. */
export async function currentText(path: string, workspace: Workspace): Promise<string | null> {
  try {
    return await workspace.readText(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    if (isAgentError(error) && (error.code === "not_text" || error.code === "file_too_large")) return "";
    throw error;
  }
}

/** The model has this text of a file before it. */
export function noteSeen(workspace: Workspace, path: string, text: string): void {
  const files = seen.get(workspace) ?? new Map<string, string>();
  seen.set(workspace, files);
  files.delete(path);
  files.set(path, digest(text));
  if (files.size > MOST_FILES) files.delete(files.keys().next().value as string);
}

/** The conversation is another than the model's last one: turns were undone, and with them what was read and written. */
export function forgetSeen(workspace: Workspace): void {
  seen.delete(workspace);
}

/** Why an edit or a patch is not made, for the model to read. */
export function refusal(message: string): AgentError {
  return new AgentError("edit_no_match", message);
}

/** Throws `file_changed` for a file that somebody else changed since the model saw it: what they did would be lost. */
export function requireCurrent({ path, shown }: RealPath, text: string, workspace: Workspace): void {
  if (knowledge(workspace, path, text) !== "stale") return;
  throw new AgentError(
    "file_changed",
    `${shown} has changed since you last read it: read it again, so that nothing of it is lost.`,
  );
}

// --- internal ---

/** Beyond this many characters a change is described, not shown. */
const MAX_SHOWN = 256 * 1024;
const MOST_FILES = 1000;

/** Digests of what a session's model read or wrote last, by path. After a restart nothing is known, and nothing is refused for it. */
const seen = new WeakMap<Workspace, Map<string, string>>();

function knowledge(workspace: Workspace, path: string, text: string): "none" | "current" | "stale" {
  const known = seen.get(workspace)?.get(path);
  if (known === undefined) return "none";
  return known === digest(text) ? "current" : "stale";
}

function digest(text: string): string {
  return createHash("sha1").update(text).digest("base64");
}

async function unifiedDiff(path: string, before: string, after: string): Promise<string> {
  const { unifiedHunks } = await import("@chimera/snapshot-store/files");
  return header(path) + ((await unifiedHunks(before, after)) ?? "");
}

function header(path: string): string {
  return `--- ${path}\n+++ ${path}\n`;
}
