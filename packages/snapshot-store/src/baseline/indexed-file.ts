/** Adds a file to the index when a scan meets it, reads it again when it may have changed, and forgets it when it is gone. */
import type { Stats } from "node:fs";
import {
  contentOf,
  hasContent,
  observing,
  type SkipReason,
  sameStamp,
  sameState,
  statIfAny,
} from "../content/file-state.js";
import { paced } from "../pacer.js";
import { fsPath } from "../workspace/path-bytes.js";
import { type Fact, goneFact } from "./facts.js";
import { noteDirectory, noteFile, noteSkipped, type ObservedCommand } from "./observed-command.js";
import type { ScanContext } from "./scan-context.js";
import {
  createFileNode,
  type DirectoryNode,
  directoriesOf,
  type FileNode,
  filesOf,
  isElusive,
  isRacy,
  pathIn,
} from "./tree.js";

/** The known past of a file when it is first listed. Only the creation of an `absent` file can be undone. */
export type Past = "absent" | "ignored_before" | "uncharted";

export async function addFile(context: ScanContext, directory: DirectoryNode, name: string, past: Past): Promise<void> {
  const { usage, facts, runs, found } = context;
  const node = createFileNode(pathIn(directory, name), usage.scans);
  const fact = facts.get(node.path);
  facts.delete(node.path);
  const stat = statIfAny(node.address);
  if (stat === null) return;
  directory.files.set(name, node);
  usage.files += 1;
  if (fact === undefined) {
    const reason = past === "absent" ? untrackedOrigin(context, stat) : past;
    await refresh(context, node, reason !== null);
    // Files in uncharted directories are reported once, for the root.
    if (reason !== null && reason !== "uncharted") noteSkipped(runs, node.path, reason);
  } else {
    found.departed.add(fact.ino);
    if (!takeFact(context, node, fact, stat)) {
      node.state = fact.state;
      await refresh(context, node, false);
    }
  }
  if (isElusive(node)) directory.watch?.suspect(name);
}

/** Returns a promise only when the file must be read again, which is seldom: a workspace may have 100,000 files. */
export function checkFile(
  context: ScanContext,
  directory: DirectoryNode,
  name: string,
  node: FileNode,
): Promise<void> | null {
  const stat = statIfAny(node.address);
  const suspect = () => {
    if (isElusive(node)) directory.watch?.suspect(name);
  };
  if (stat === null || node.racy || !sameStamp(node, stat)) return refresh(context, node, false).then(suspect);
  suspect();
  return null;
}

/** @param deleted true when the entries are gone, false when they are only ignored now. */
export function forgetBelow(context: ScanContext, directory: DirectoryNode, deleted: boolean): void {
  for (const child of directoriesOf(directory)) {
    for (const node of child.files.values()) forgetFile(context, node, deleted);
    if (deleted && child !== directory) noteDirectory(context.runs, child.path, child.mode);
    child.watch?.close();
    child.watch = null;
  }
  directory.files.clear();
  directory.dirs.clear();
}

export function forgetFile(context: ScanContext, node: FileNode, deleted: boolean): void {
  context.usage.files -= 1;
  context.usage.bytes -= node.stored;
  context.found.learned.push(goneFact(node.path));
  context.found.departed.add(node.ino);
  if (deleted && node.state.kind !== "absent") noteFile(context.runs, node.path, node.state);
}

/** Drops facts about files that the scan did not find: they were removed meanwhile. */
export function settleUnmetFacts(context: ScanContext): void {
  for (const fact of context.facts.values()) {
    const still = statIfAny(fsPath(fact.path));
    if (still === null) noteFile(context.runs, fact.path, fact.state);
    context.found.learned.push(goneFact(fact.path));
  }
  context.facts.clear();
}

export function factOf(node: FileNode): Fact {
  const { path, size, mtimeMs, ctimeMs, ino, binary, state } = node;
  return { path, size, mtimeMs, ctimeMs, ino, binary, state };
}

// --- internal ---

/** As in git, a file is text when its first bytes contain no NUL. */
const BINARY_PROBE_BYTES = 8000;

/** Why a file that was not in the index may have existed already; null when it is new. */
function untrackedOrigin(context: ScanContext, stat: Stats): SkipReason | null {
  const isOlder = [...context.runs].every((run) => isOlderThan(run, stat, context.now()));
  return context.runs.size > 0 && isOlder && !isKnownInode(context, stat.ino) ? "moved_from_untracked" : null;
}

/** Clocks of file systems, kernels and this process advance in steps; times within this span count as equal. */
const GRAIN_MS = 50;

/**
 * Whether a file existed before the run. When the clock was set meanwhile, its birth time does not tell: then the file is older when the
 * time between its birth and its last change, such as a move, is longer than the run.
 */
function isOlderThan(run: ObservedCommand, { birthtimeMs, ctimeMs }: Stats, now: number): boolean {
  const { startedAt } = run;
  if (birthtimeMs <= 0) return false;
  const elapsed = run.elapsed?.() ?? now - startedAt;
  const isSet = Math.abs(now - startedAt - elapsed) > GRAIN_MS + elapsed / 1000;
  return isSet ? ctimeMs - birthtimeMs > elapsed + GRAIN_MS : birthtimeMs < startedAt - GRAIN_MS;
}

/** True for a renamed or linked file of the index; false for one that came from an unindexed place. */
function isKnownInode({ root, usage, facts, found }: ScanContext, ino: number): boolean {
  if (found.departed.has(ino)) return true;
  if (found.inodes === null) {
    found.inodes = new Set();
    for (const node of filesOf(root)) if (node.scan !== usage.scans) found.inodes.add(node.ino);
    for (const fact of facts.values()) found.inodes.add(fact.ino);
  }
  return found.inodes.has(ino);
}

function takeFact(context: ScanContext, node: FileNode, fact: Fact, stat: Stats): boolean {
  const { state, size, mtimeMs, ctimeMs, ino, binary } = fact;
  if (!sameStamp(fact, stat) || isRacy(stat.ctimeMs, context.now())) return false;
  if (!hasContent(state) || context.blobs.size(state.sha) !== size) return false;
  const stored = state.kind === "file" ? size : 0;
  if (context.usage.bytes + stored > context.limits.baselineBytes) return false;
  context.usage.bytes += stored;
  Object.assign(node, { size, mtimeMs, ctimeMs, ino, binary, state, stored, linked: stat.nlink > 1 });
  return true;
}

/** Reads a file again and notes it for the running commands when it differs. */
async function refresh(context: ScanContext, node: FileNode, quietly: boolean): Promise<void> {
  const { limits, usage, blobs, runs, found, pacer } = context;
  const before = node.state;
  const seen = await paced(observing(node.address, limits.fileBytes), pacer);
  const content = contentOf(seen);
  const fits = usage.bytes - node.stored + (content?.bytes.length ?? 0) <= limits.baselineBytes;
  if (content !== null && fits) await paced(blobs.putting(content.sha, content.bytes), pacer);
  usage.bytes -= node.stored;
  node.stored = 0;
  node.state = content === null || fits ? seen.state : { kind: "skipped", reason: "quota" };
  if (seen.stat !== null) {
    if (node.ino !== seen.stat.ino) found.departed.add(node.ino);
    const { size, mtimeMs, ctimeMs, ino, nlink } = seen.stat;
    Object.assign(node, { size, mtimeMs, ctimeMs, ino });
    node.racy = isRacy(ctimeMs, context.now());
    found.hardLink ||= nlink > 1 && !node.linked;
    node.linked = nlink > 1;
    node.binary = seen.bytes?.subarray(0, BINARY_PROBE_BYTES).includes(0) ?? true;
  }
  if (content !== null && fits) {
    node.stored = content.bytes.length;
    usage.bytes += node.stored;
    found.learned.push(factOf(node));
  }
  if (!quietly && !sameState(before, node.state)) noteFile(runs, node.path, before);
}
