/** Brings the index of one root up to date: every file's times are compared, only what changed is read. */
import { type Dirent, readdirSync } from "node:fs";
import type { Blobs } from "../content/blobs.js";
import { type FileState, observe, sameContent, statIfAny } from "../content/file-state.js";
import type { SnapshotLimits } from "../limits.js";
import { fsPath, textOfBytes } from "../workspace/path-bytes.js";
import { type Fact, goneFact } from "./facts.js";
import { type IgnoreRules, isAlwaysIgnored, readIgnoreFile, rulesBelow } from "./ignore-rules.js";
import { createPacer } from "./pacer.js";
import { noteDirectory, noteFile, noteSkipped, type Run } from "./run.js";
import {
  createDirectoryNode,
  createFileNode,
  type DirectoryNode,
  directoriesOf,
  type FileNode,
  filesOf,
  isRacy,
  sameStamp,
} from "./tree.js";

export interface ScanContext {
  readonly root: DirectoryNode;
  readonly rulesAbove: IgnoreRules;
  readonly ownData: string;
  readonly blobs: Blobs;
  readonly limits: SnapshotLimits;
  readonly runs: ReadonlySet<Run>;
  /** Learned by earlier processes; taken over where the times still agree, then dropped. */
  readonly facts: Map<string, Fact>;
  readonly usage: Usage;
  readonly clock: () => number;
}

export interface Usage {
  files: number;
  bytes: number;
  /** The quota of files was reached: what is not in the index is unknown, not absent. */
  truncated: boolean;
  /** Numbers the scans, so that a file just read is not looked at twice in one. */
  scans: number;
}

interface Visit {
  readonly directory: DirectoryNode;
  readonly parentRules: IgnoreRules;
  /** A rule above changed, so that every listing below has to be judged again. */
  readonly stale: boolean;
}

/** Scans the whole root and returns what was learned. */
export async function scan(context: ScanContext): Promise<Fact[]> {
  const { usage } = context;
  const learned: Fact[] = [];
  const pacer = createPacer();
  const before = { truncated: usage.truncated, inodes: inodesOf(context) };
  usage.truncated = false;
  usage.scans += 1;
  const queue: Visit[] = [{ directory: context.root, parentRules: context.rulesAbove, stale: false }];
  for (let at = 0; at < queue.length; at += 1) {
    const visit = queue[at]!;
    const relisted = visitDirectory(context, visit, before, learned);
    for (const node of visit.directory.files.values()) {
      if (node.scan !== context.usage.scans) checkFile(context, node, learned);
      const pause = pacer.pause();
      if (pause !== null) await pause;
    }
    for (const child of visit.directory.dirs.values()) {
      queue.push({ directory: child, parentRules: visit.directory.rules, stale: relisted === "rules" });
    }
    const pause = pacer.pause();
    if (pause !== null) await pause;
  }
  return learned;
}

// --- internal ---

interface Before {
  readonly truncated: boolean;
  readonly inodes: ReadonlySet<number>;
}

/** Known inodes tell a renamed file from one that came from where nobody looked; only needed while a command runs. */
function inodesOf(context: ScanContext): ReadonlySet<number> {
  const inodes = new Set<number>();
  if (context.runs.size === 0) return inodes;
  for (const node of filesOf(context.root)) inodes.add(node.ino);
  for (const fact of context.facts.values()) inodes.add(fact.ino);
  return inodes;
}

/** Lists a directory again if need be; tells whether its ignore rules changed. */
function visitDirectory(context: ScanContext, visit: Visit, before: Before, learned: Fact[]): "rules" | "same" {
  const { directory, parentRules, stale } = visit;
  const stat = statIfAny(directory.address);
  if (stat === null || !stat.isDirectory()) {
    forget(context, directory, learned, true);
    directory.mtimeMs = null;
    return "same";
  }
  if (directory.mode !== (stat.mode & 0o7777) && directory.mtimeMs !== null) {
    noteDirectory(context.runs, directory.path, directory.mode);
  }
  directory.mode = stat.mode & 0o7777;
  const stamp = directory.mtimeMs === stat.mtimeMs && directory.ctimeMs === stat.ctimeMs && directory.ino === stat.ino;
  if (stamp && !directory.racy && !stale && !ignoreFileChanged(directory)) return "same";

  const oldRules = directory.rules;
  const first = directory.mtimeMs === null;
  directory.racy = isRacy(stat, context.clock());
  directory.mtimeMs = stat.mtimeMs;
  directory.ctimeMs = stat.ctimeMs;
  directory.ino = stat.ino;
  const entries = listDirectory(directory);
  const text = entries.has(".gitignore") ? readIgnoreFile(`${directory.path}/.gitignore`) : "";
  const rulesChanged = stale || first || text !== directory.ignoreText;
  if (rulesChanged) {
    directory.ignoreText = text;
    directory.rules = rulesBelow(parentRules, directory.path, text);
  }
  reconcile(context, directory, entries, { before, oldRules: first ? null : oldRules }, learned);
  return rulesChanged ? "rules" : "same";
}

function ignoreFileChanged(directory: DirectoryNode): boolean {
  const node = directory.files.get(".gitignore");
  if (node === undefined) return false;
  const stat = statIfAny(node.address);
  return stat === null || node.racy || !sameStamp(node, stat);
}

function listDirectory(directory: DirectoryNode): Map<string, Dirent | Dirent<Buffer>> {
  const found = new Map<string, Dirent | Dirent<Buffer>>();
  try {
    const entries = readdirSync(directory.address, { withFileTypes: true });
    if (!entries.some((entry) => entry.name.includes("\ufffd"))) {
      for (const entry of entries) found.set(entry.name, entry);
      return found;
    }
    for (const entry of readdirSync(directory.address, { withFileTypes: true, encoding: "buffer" })) {
      found.set(textOfBytes(entry.name), entry);
    }
  } catch {
    // Unreadable or just removed: nothing in it can be kept.
  }
  return found;
}

function reconcile(
  context: ScanContext,
  directory: DirectoryNode,
  entries: ReadonlyMap<string, Dirent | Dirent<Buffer>>,
  past: { readonly before: Before; readonly oldRules: IgnoreRules | null },
  learned: Fact[],
): void {
  const prefix = directory.path === "/" ? "/" : `${directory.path}/`;
  const files = new Set<string>();
  const dirs = new Set<string>();
  for (const [name, entry] of entries) {
    const path = prefix + name;
    const isDirectory = entry.isDirectory();
    if (!isDirectory && !entry.isFile() && !entry.isSymbolicLink()) continue;
    if (isAlwaysIgnored(name) || path === context.ownData || directory.rules.ignores(path, isDirectory)) continue;
    (isDirectory ? dirs : files).add(name);
  }
  for (const [name, node] of directory.files) {
    if (files.has(name)) continue;
    directory.files.delete(name);
    const nowIgnored = entries.get(name)?.isDirectory() === false;
    forgetFile(context, node, learned, !nowIgnored);
  }
  for (const [name, node] of directory.dirs) {
    if (dirs.has(name)) continue;
    directory.dirs.delete(name);
    const nowIgnored = entries.get(name)?.isDirectory() === true;
    forget(context, node, learned, !nowIgnored);
    if (!nowIgnored) noteDirectory(context.runs, node.path, node.mode);
  }
  for (const name of dirs) {
    if (directory.dirs.has(name)) continue;
    const node = createDirectoryNode(prefix + name, directory.rules);
    directory.dirs.set(name, node);
    if (past.oldRules?.ignores(node.path, true) !== true) noteDirectory(context.runs, node.path, null);
  }
  for (const name of files) {
    if (!directory.files.has(name)) addFile(context, directory, name, prefix + name, past, learned);
  }
}

function addFile(
  context: ScanContext,
  directory: DirectoryNode,
  name: string,
  path: string,
  past: { readonly before: Before; readonly oldRules: IgnoreRules | null },
  learned: Fact[],
): void {
  const { usage, limits, facts, runs } = context;
  if (usage.files >= limits.baselineFiles) {
    usage.truncated = true;
    noteSkipped(runs, context.root.path, "quota");
    return;
  }
  const node = createFileNode(path);
  node.scan = usage.scans;
  const fact = facts.get(path);
  facts.delete(path);
  const stat = statIfAny(node.address);
  if (stat === null) return;
  directory.files.set(name, node);
  usage.files += 1;
  if (fact !== undefined && sameStamp(fact, stat) && !isRacy(stat, context.clock()) && takeFact(context, node, fact)) {
    return;
  }
  if (fact !== undefined) node.state = fact.state;
  const unknownBefore = fact === undefined && runs.size > 0 ? untrackedOrigin(context, path, stat, past) : null;
  refresh(context, node, learned, unknownBefore !== null);
  if (unknownBefore !== null) noteSkipped(runs, path, unknownBefore);
}

/** Why a file that was not in the index may have existed all the same; null when it is new. */
function untrackedOrigin(
  context: ScanContext,
  path: string,
  stat: { readonly ino: number; readonly birthtimeMs: number },
  past: { readonly before: Before; readonly oldRules: IgnoreRules | null },
): string | null {
  if (past.before.truncated) return "quota";
  if (past.oldRules?.ignores(path, false) === true) return "ignored_before";
  const started = Math.min(...[...context.runs].map((run) => run.startedAt));
  const older = stat.birthtimeMs > 0 && stat.birthtimeMs < started - 50;
  return older && !past.before.inodes.has(stat.ino) ? "moved_from_untracked" : null;
}

function takeFact(context: ScanContext, node: FileNode, fact: Fact): boolean {
  const { state } = fact;
  if ((state.kind !== "file" && state.kind !== "link") || context.blobs.size(state.sha) === null) return false;
  const stored = state.kind === "file" ? fact.size : 0;
  if (context.usage.bytes + stored > context.limits.baselineBytes) return false;
  context.usage.bytes += stored;
  const { size, mtimeMs, ctimeMs, ino } = fact;
  Object.assign(node, { size, mtimeMs, ctimeMs, ino, state, stored, racy: false });
  return true;
}

function checkFile(context: ScanContext, node: FileNode, learned: Fact[]): void {
  const stat = statIfAny(node.address);
  if (stat !== null && !node.racy && sameStamp(node, stat)) return;
  refresh(context, node, learned, false);
}

/** Reads a file anew and tells the running commands if it differs. */
function refresh(context: ScanContext, node: FileNode, learned: Fact[], quietly: boolean): void {
  const { limits, usage, blobs, runs } = context;
  const before = node.state;
  const seen = observe(node.address, limits.fileBytes);
  usage.bytes -= node.stored;
  node.stored = 0;
  node.state = seen.state;
  if (seen.stat !== null) {
    const { size, mtimeMs, ctimeMs, ino } = seen.stat;
    Object.assign(node, { size, mtimeMs, ctimeMs, ino, racy: isRacy(seen.stat, context.clock()) });
  }
  if ((seen.state.kind === "file" || seen.state.kind === "link") && seen.bytes !== null) {
    if (usage.bytes + seen.bytes.length > limits.baselineBytes) {
      node.state = { kind: "skipped", reason: "quota" };
    } else {
      blobs.put(seen.state.sha, seen.bytes);
      node.stored = seen.bytes.length;
      usage.bytes += node.stored;
      learned.push(factOf(node));
    }
  }
  if (!quietly && !(sameContent(before, node.state) && modeOf(before) === modeOf(node.state))) {
    noteFile(runs, node.path, before);
  }
}

function forget(context: ScanContext, directory: DirectoryNode, learned: Fact[], deleted: boolean): void {
  for (const child of directoriesOf(directory)) {
    for (const node of child.files.values()) forgetFile(context, node, learned, deleted);
    if (deleted && child !== directory) noteDirectory(context.runs, child.path, child.mode);
  }
  directory.files.clear();
  directory.dirs.clear();
}

function forgetFile(context: ScanContext, node: FileNode, learned: Fact[], deleted: boolean): void {
  context.usage.files -= 1;
  context.usage.bytes -= node.stored;
  learned.push(goneFact(node.path));
  if (deleted && node.state.kind !== "absent") noteFile(context.runs, node.path, node.state);
}

function modeOf(state: FileState): number | null {
  return state.kind === "file" ? state.mode : null;
}

export function factOf(node: FileNode): Fact {
  const { path, size, mtimeMs, ctimeMs, ino, state } = node;
  return { path, size, mtimeMs, ctimeMs, ino, state };
}

/** Facts about paths that the first scan of this process did not meet again: files that went meanwhile. */
export function settleUnmetFacts(context: ScanContext): Fact[] {
  const gone: Fact[] = [];
  for (const fact of context.facts.values()) {
    const still = statIfAny(fsPath(fact.path));
    if (still === null) noteFile(context.runs, fact.path, fact.state);
    gone.push(goneFact(fact.path));
  }
  context.facts.clear();
  return gone;
}
