/** Stores the content of files in a session's blobs: before the turn changes them, and after it. */
import { readlinkSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Baseline } from "../baseline/baseline.js";
import type { ObservedCommand } from "../baseline/observed-command.js";
import type { Blobs } from "../content/blobs.js";
import {
  ABSENT,
  contentOf,
  type FileState,
  observing,
  type StoredState,
  sameState,
  statIfAny,
} from "../content/file-state.js";
import { orElse } from "../errors.js";
import type { SnapshotLimits } from "../limits.js";
import { createPacer, type Pacer, paced } from "../pacer.js";
import { fsPath, textOfBytes } from "../workspace/path-bytes.js";
import type { Roots } from "../workspace/roots.js";
import type { DirectoryChange, FileStep } from "./manifest.js";
import type { OpenTurn } from "./open-turn.js";

export interface CaptureContext {
  readonly roots: Roots;
  readonly blobs: Blobs;
  readonly limits: SnapshotLimits;
  baseline(root: string): Baseline;
}

/** Captures a path before the turn writes it, and every path that its links lead to. Returns the captured paths. */
export async function captureBefore(turn: OpenTurn, path: string, context: CaptureContext): Promise<readonly string[]> {
  const paths = followed(context.roots.canonical(path), context.roots);
  const pacer = createPacer();
  for (const each of paths) await capturePath(turn, each, context, pacer);
  return paths;
}

/** Captures the changes of a command, with the earlier content from the baseline. */
export async function captureCommand(
  turn: OpenTurn,
  run: ObservedCommand,
  baseline: Baseline,
  blobs: Blobs,
): Promise<void> {
  const pacer = createPacer();
  for (const [path, before] of run.files) {
    await pacer.pause();
    if (turn.before.has(path)) continue;
    if (before.kind === "skipped") turn.skip(path, before.reason);
    else if (before.kind === "directory" || before.kind === "absent") turn.found(path, ABSENT);
    else if (blobs.adopt(before.sha, baseline.blobs)) turn.found(path, before);
    else turn.skip(path, "blob_missing");
  }
  for (const [path, mode] of run.dirs) turn.foundDirectory(path, mode);
  for (const [path, reason] of run.skipped) turn.skip(path, reason);
}

export interface TurnResult {
  readonly steps: ReadonlyMap<string, FileStep>;
  readonly dirs: ReadonlyMap<string, DirectoryChange>;
  readonly skipped: ReadonlyMap<string, string>;
}

/** Checks every path that the turn touched again, and stores its new content. */
export async function captureAfter(turn: OpenTurn, context: CaptureContext): Promise<TurnResult> {
  const steps = new Map<string, FileStep>();
  const skipped = new Map(turn.skipped);
  const pacer = createPacer();
  for (const [path, before] of turn.before) {
    await pacer.pause();
    const after = await currentState(path, context, pacer);
    if (after.kind === "skipped") skipped.set(path, after.reason);
    else if (!sameState(before, after)) steps.set(path, { before, after });
  }
  const dirs = new Map<string, DirectoryChange>();
  for (const [path, before] of turn.dirs) {
    const stat = statIfAny(fsPath(path));
    const after = stat?.isDirectory() ? stat.mode & 0o7777 : null;
    if (after !== before) dirs.set(path, { before, after });
  }
  return { steps, dirs, skipped };
}

// --- internal ---

async function capturePath(turn: OpenTurn, path: string, context: CaptureContext, pacer: Pacer): Promise<void> {
  if (turn.before.has(path)) return;
  const located = context.roots.locate(path);
  if (located === null) {
    turn.skip(path, context.roots.isOwn(path) ? "own_data" : "outside_workspace");
    return;
  }
  const seen = await paced(observing(fsPath(path), context.limits.fileBytes), pacer);
  const { state } = seen;
  const content = contentOf(seen);
  if (state.kind === "skipped") turn.skip(path, state.reason);
  if (content !== null) await paced(context.blobs.putting(content.sha, content.bytes), pacer);
  if (state.kind === "file" || state.kind === "link" || state.kind === "absent") {
    for (const missing of missingParents(path, located.root)) turn.foundDirectory(missing, null);
    turn.found(path, state);
  }
}

/** As many links in a row as Linux follows. */
const MAX_LINKS = 40;

/** A path, and each path that its links lead to. The last one may not exist. */
function followed(path: string, roots: Roots): string[] {
  const paths = [path];
  try {
    while (paths.length <= MAX_LINKS) {
      const link = paths.at(-1)!;
      const target = textOfBytes(readlinkSync(fsPath(link), { encoding: "buffer" }));
      paths.push(roots.canonical(resolve(dirname(link), target)));
    }
  } catch {
    // The path is not a link, or it does not exist.
  }
  return paths;
}

function missingParents(path: string, root: string): string[] {
  const missing: string[] = [];
  for (let parent = dirname(path); parent.length > root.length; parent = dirname(parent)) {
    if (statIfAny(fsPath(parent)) !== null) break;
    missing.unshift(parent);
  }
  return missing;
}

/** The state of a path now. Anything but a file or link counts as absent, as does a path behind a link. */
async function currentState(
  path: string,
  context: CaptureContext,
  pacer: Pacer,
): Promise<StoredState | Extract<FileState, { kind: "skipped" }>> {
  const located = context.roots.locate(path);
  if (located === null) return { kind: "skipped", reason: "outside_workspace" };
  if (!isReached(path, context.roots)) return ABSENT;
  const baseline = context.baseline(located.root);
  const known = baseline.current(path);
  if (known !== null && known.kind !== "absent" && context.blobs.adopt(known.sha, baseline.blobs)) return known;
  const seen = await paced(observing(fsPath(path), context.limits.fileBytes), pacer);
  const { state } = seen;
  const content = contentOf(seen);
  if (state.kind === "directory") return ABSENT;
  if (state.kind === "skipped") return state.reason === "not_a_regular_file" ? ABSENT : state;
  if (content !== null && !context.blobs.adopt(content.sha, baseline.blobs)) {
    await paced(context.blobs.putting(content.sha, content.bytes), pacer);
  }
  return state;
}

/** False when a parent has become a link, or cannot be entered. */
function isReached(path: string, roots: Roots): boolean {
  return orElse(() => roots.canonical(path) === path, false);
}
