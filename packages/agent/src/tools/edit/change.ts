/** Changes a text file: shows the change first, announces it to undo, writes it, and notes the text that the model now knows. */
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
  /** Null for a deleted file. */
  readonly after: string | null;
}

/**
 * Makes a tool that changes the file at `path`. The person sees a diff before the change is made, except for a file outside the
 * workspace: it is not read before the person allows it, so they see only the arguments.
 */
export function defineChange<I extends { path: string }, C extends Change>(
  parts: Pick<ToolParts<I>, "name" | "aliases" | "description" | "input"> & ChangeParts<I, C>,
): Tool<I> {
  const { verb, change, done, ...named } = parts;
  const changeOf = async (input: I, file: RealPath, place: Whereabouts): Promise<C> =>
    requireWhole(file, await change(input, file, place));
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

/** Returns the change, or throws if it would write half of a character: no encoding has bytes for that. */
export function requireWhole<C extends Change>({ shown }: RealPath, change: C): C {
  if (!/\p{Surrogate}/u.test(change.after ?? "")) return change;
  throw refusal(`${shown} would get half of a character, such as \\ud83d.`);
}

/** What differs between tools that change a file. */
interface ChangeParts<I, C> {
  /** Stands before the file's name in the title of a call. */
  readonly verb: string;
  /** Computes the change. Throws when it cannot be made. */
  change(input: I, file: RealPath, place: Whereabouts): Promise<C>;
  /** The result for the model. */
  done(file: RealPath, change: C, context: ToolContext): string;
}

export function kindOf({ before, after }: Change): "add" | "delete" | "update" {
  return before === null ? "add" : after === null ? "delete" : "update";
}

export function diffOf({ path }: RealPath, { before, after }: Change): ToolContent[] {
  const isShown = (before?.length ?? 0) + (after?.length ?? 0) <= MAX_SHOWN;
  return isShown ? [{ type: "diff", path, old_text: before, new_text: after ?? "" }] : [];
}

/** Writes the change. Undo gets the old content first, and readers of the session see the diff. */
export async function publish(file: RealPath, change: Change, context: ToolContext): Promise<ToolContent[]> {
  const { workspace } = context;
  const { before, after } = change;
  const isKnown = before !== null && knowledge(workspace, file.path, before) === "current";
  await workspace.willWrite(file.path);
  if (after === null) await removeCanonical(file.path);
  else await workspace.writeText(file.path, after);
  if (after !== null && (isKnown || before === null)) noteSeen(workspace, file.path, after);
  const shown = diffOf(file, change);
  const hunks = shown.length > 0 ? await hunksOf(before ?? "", after ?? "") : "";
  const diff = `--- ${file.shown}\n+++ ${file.shown}\n${hunks}`;
  context.emit({ type: "file_edit", metadata: { path: file.path, diff, change: kindOf(change) } });
  return shown;
}

/** The text of a file; null when it does not exist. "" for a binary or oversized file, which may be replaced but has no text to compare. */
export async function currentText(path: string, workspace: Workspace): Promise<string | null> {
  try {
    return await workspace.readText(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    if (isAgentError(error) && (error.code === "not_text" || error.code === "file_too_large")) return "";
    throw error;
  }
}

/** Remembers that the model knows this text of a file. */
export function noteSeen(workspace: Workspace, path: string, text: string): void {
  const files = seen.get(workspace) ?? new Map<string, string>();
  seen.set(workspace, files);
  files.delete(path);
  files.set(path, digest(text));
  if (files.size > MOST_FILES) files.delete(files.keys().next().value as string);
}

/** Forgets the files that the model knows. Called when turns were undone, because their reads and writes left the conversation. */
export function forgetSeen(workspace: Workspace): void {
  seen.delete(workspace);
}

/** The error of an edit or a patch that does not fit, with a message for the model. */
export function refusal(message: string): AgentError {
  return new AgentError("edit_no_match", message);
}

/** Throws `file_changed` if the file has changed since the model saw it, because writing would lose that change. */
export function requireCurrent({ path, shown }: RealPath, text: string, workspace: Workspace): void {
  if (knowledge(workspace, path, text) !== "stale") return;
  throw new AgentError(
    "file_changed",
    `${shown} has changed since you last read it: read it again, so that nothing of it is lost.`,
  );
}

// --- internal ---

/** Most characters of both texts together in a diff that is shown. */
const MAX_SHOWN = 256 * 1024;
const MOST_FILES = 1000;

/** Path -> digest of the text that the session's model last read or wrote. Empty after a restart; an unknown file is not refused. */
const seen = new WeakMap<Workspace, Map<string, string>>();

function knowledge(workspace: Workspace, path: string, text: string): "none" | "current" | "stale" {
  const known = seen.get(workspace)?.get(path);
  if (known === undefined) return "none";
  return known === digest(text) ? "current" : "stale";
}

function digest(text: string): string {
  return createHash("sha1").update(text).digest("base64");
}

async function hunksOf(before: string, after: string): Promise<string> {
  const { unifiedHunks } = await import("@chimera/snapshot-store/files");
  return (await unifiedHunks(before, after)) ?? "";
}
