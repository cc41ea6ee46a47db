/** One file of the index: added when it is met, read again when it may have changed, forgotten when it is gone. */
import type { Stats } from "node:fs";
import {
  contentOf,
  type FileState,
  observing,
  type SkipReason,
  sameContent,
  sameStamp,
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

/** What the index could know of a file before it was listed; only one that is new to the disk can be undone. */
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
    // What lies off the chart is reported once, for the root.
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

/** A promise only when it has to be read again, which is seldom: a workspace may have 100,000 files. */
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

/** `deleted`: they are gone, and not merely out of sight. */
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

/** Facts about paths that no scan of this process met again: files that went meanwhile. */
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

/** As git does: text has no NUL near its beginning. */
const BINARY_PROBE_BYTES = 8000;

/** Why a file that was not in the index may have existed all the same; null when it is new. */
function untrackedOrigin(context: ScanContext, stat: Stats): SkipReason | null {
  const isOlder = [...context.runs].every((run) => isOlderThan(run, stat, context.now()));
  return context.runs.size > 0 && isOlder && !isKnownInode(context, stat.ino) ? "moved_from_untracked" : null;
}

/** What stamps files, kernels and this process count time in steps; within this, two moments are the same. */
const GRAIN_MS = 50;

/**
 * Whether a file was there before the run. A clock that was set meanwhile says nothing of that: then the file is older when more time lies
 * between its birth and its last change, a move for instance, than the run has taken.
 */
function isOlderThan(run: ObservedCommand, { birthtimeMs, ctimeMs }: Stats, now: number): boolean {
  const { startedAt } = run;
  if (birthtimeMs <= 0) return false;
  const elapsed = run.elapsed?.() ?? now - startedAt;
  const isSet = Math.abs(now - startedAt - elapsed) > GRAIN_MS + elapsed / 1000;
  return isSet ? ctimeMs - birthtimeMs > elapsed + GRAIN_MS : birthtimeMs < startedAt - GRAIN_MS;
}

/** A known inode tells a renamed or linked file from one that came from where nobody looked. */
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
  if ((state.kind !== "file" && state.kind !== "link") || context.blobs.size(state.sha) !== size) return false;
  const stored = state.kind === "file" ? size : 0;
  if (context.usage.bytes + stored > context.limits.baselineBytes) return false;
  context.usage.bytes += stored;
  Object.assign(node, { size, mtimeMs, ctimeMs, ino, binary, state, stored, linked: stat.nlink > 1 });
  return true;
}

/** Reads a file anew and tells the running commands if it differs. */
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
  if (!quietly && !(sameContent(before, node.state) && modeOf(before) === modeOf(node.state))) {
    noteFile(runs, node.path, before);
  }
}

function modeOf(state: FileState): number | null {
  return state.kind === "file" ? state.mode : null;
}
