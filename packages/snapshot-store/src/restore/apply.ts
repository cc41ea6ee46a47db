/** Carries out a plan. Doing it again after a crash gives the same result. */
import { lchownSync, lstatSync, openSync, renameSync, rmdirSync, type Stats, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import {
  ABSENT,
  contentOf,
  type FileState,
  hasContent,
  isAbsentAsFile,
  observing,
  type StoredState,
  sameStamp,
  sameState,
  statIfAny,
} from "../content/file-state.js";
import { errnoOf, unless } from "../errors.js";
import { createPacer, paced, type Steps } from "../pacer.js";
import { inPinned, mkdirIfMissing } from "../workspace/pinned-dir.js";
import type { DirectoryOp, FileOp, Plan } from "./plan.js";
import { createSyncBatch, type Stage, stageFiles } from "./stage.js";
import { inParent, lookingAt, stepsInParent, type Workplace } from "./workplace.js";

/** Path -> why its op was given up at the last moment. */
export type LateConflicts = ReadonlyMap<string, string>;

/** Prepares a plan: puts every file's content beside its destination, and stores the content that it will replace. */
export async function prepare(plan: Plan, stageName: string, place: Workplace): Promise<Stage> {
  const pacer = createPacer();
  for (const op of plan.files) {
    await pacer.pause();
    const content = contentOf(await paced(lookingAt(op.path, place), pacer));
    if (content !== null) await paced(place.blobs.putting(content.sha, content.bytes), pacer);
  }
  return stageFiles(plan.files, stageName, place.roots, place.blobs);
}

/** Deletions first, then directories, then files: a file can take a directory's place and the reverse. Modes come last. */
export async function carryOut(plan: Plan, stage: Stage, place: Workplace): Promise<LateConflicts> {
  const late = new Map<string, string>();
  const pacer = createPacer();
  const carry = async ({ path }: FileOp, steps: Steps<string | null>) => {
    const reason = await paced(steps, pacer);
    if (reason !== null) late.set(path, reason);
    await pacer.pause();
  };
  const deletions = deepestFirst(plan.files.filter((op) => op.to.kind === "absent"));
  const directories = deepestFirst(plan.dirs);
  const placements = plan.files.filter((op) => op.to.kind !== "absent");
  for (const dir of [...directories].reverse()) if (dir.from !== null) setMode(dir, dir.from | OPEN_TO_OWNER, place);
  for (const op of deletions) await carry(op, deletingFile(op, place));
  for (const dir of directories.filter((op) => op.to === null)) {
    removeDirectory(dir, place);
    await pacer.pause();
  }
  for (const dir of directories.filter((op) => op.to !== null).reverse()) {
    makeDirectory(dir, place);
    await pacer.pause();
  }
  for (const op of placements) await carry(op, puttingFile(op, stage, place));
  await syncParents([...plan.files, ...plan.dirs], place);
  for (const dir of directories) if (dir.to !== null) setMode(dir, dir.to, place);
  return late;
}

/** The plan that undoes another plan. */
export function reversed(plan: Plan): Plan {
  const storedOf = (state: FileState): StoredState => (hasContent(state) ? state : ABSENT);
  return {
    files: plan.files.map(({ path, from, to }) => ({ path, from: to, to: storedOf(from) })),
    dirs: plan.dirs.map(({ path, from, to }) => ({ path, from: to, to: from })),
    outcomes: plan.outcomes,
  };
}

// --- internal ---

/** Mode bits that a directory has during the restore, so that its entries can be changed. */
const OPEN_TO_OWNER = 0o700;

function deepestFirst<T extends { readonly path: string }>(ops: readonly T[]): T[] {
  const depths = ops.map((op) => ({ op, depth: op.path.split("/").length }));
  return depths.sort((a, b) => b.depth - a.depth).map(({ op }) => op);
}

/** Whether an op still applies: the file may have changed since the plan was made, or while it is read here. */
function* standing(op: FileOp, address: string | Buffer, place: Workplace): Steps<"go" | "done" | "changed"> {
  const { state, stat } = yield* observing(address, place.fileBytes);
  const now = statIfAny(address);
  if (state.kind === "file" && (stat === null || now === null || !sameStamp(stat, now))) return "changed";
  if (equal(state, op.to)) return "done";
  return equal(state, op.from) ? "go" : "changed";
}

function equal(a: FileState, b: FileState): boolean {
  if (a.kind === "skipped" || b.kind === "skipped") return a.kind === b.kind;
  return sameState(a, b);
}

function* deletingFile(op: FileOp, place: Workplace): Steps<string | null> {
  const reason = yield* stepsInParent(op.path, place, "as they are", function* (parent, name) {
    const address = parent.at(name);
    const now = yield* standing(op, address, place);
    if (now === "done") return null;
    if (now === "changed" || !parent.inPlace()) return "changed_meanwhile";
    return unlessMoved(() => unlinkSync(address));
  });
  return reason ?? null;
}

function* puttingFile(op: FileOp, stage: Stage, place: Workplace): Steps<string | null> {
  const reason = yield* stepsInParent(op.path, place, "made", function* (parent, name) {
    const address = parent.at(name);
    const now = yield* standing(op, address, place);
    if (now === "done") return null;
    const blocked = now === "changed" || (isAbsentAsFile(op.from) && statIfAny(address) !== null);
    if (blocked || !parent.inPlace()) return "changed_meanwhile";
    return unlessMoved(() => {
      const like = statIfAny(address) ?? lstatSync(parent.at("."));
      try {
        moveTo(address, stage.address(op), like);
      } catch (error) {
        if (errnoOf(error) !== "EXDEV") throw error;
        moveTo(address, stage.beside(op, parent), like);
      }
    });
  });
  return reason === undefined ? "parent_not_a_directory" : reason;
}

/** Turns an error that means that another program has just changed the place into a conflict for this file; others continue. */
function unlessMoved(work: () => void): string | null {
  return unless(["ENOENT", "ENOTDIR", "EISDIR", "EEXIST", "ENOTEMPTY"], work) === null ? "changed_meanwhile" : null;
}

/** Moves a prepared file into place. When root restores, the file keeps its former owner. */
function moveTo(address: string | Buffer, prepared: string | Buffer, like: Stats): void {
  if (process.geteuid?.() === 0) {
    const { uid, gid } = lstatSync(prepared);
    if (uid !== like.uid || gid !== like.gid) lchownSync(prepared, like.uid, like.gid);
  }
  renameSync(prepared, address);
}

function makeDirectory(op: DirectoryOp, place: Workplace): void {
  inParent(op.path, place, "made", (parent, name) => {
    if (parent.inPlace()) mkdirIfMissing(parent.at(name), op.to! | OPEN_TO_OWNER);
  });
}

/** Removes a directory, unless it still has other entries. */
function removeDirectory(op: DirectoryOp, place: Workplace): void {
  inParent(op.path, place, "as they are", (parent, name) => {
    if (parent.inPlace()) unless(["ENOENT", "ENOTEMPTY", "EEXIST", "ENOTDIR"], () => rmdirSync(parent.at(name)));
  });
}

function setMode(op: DirectoryOp, mode: number, place: Workplace): void {
  const { root, parts } = place.roots.locate(op.path)!;
  inPinned(root, parts, (dir) => dir.chmod(mode));
}

/** Syncs the renames and removals; without this, a power cut could undo some of them after the journal is gone. */
async function syncParents(ops: readonly { readonly path: string }[], place: Workplace): Promise<void> {
  if (process.platform === "win32") return;
  const batch = createSyncBatch();
  const first = new Map(ops.map(({ path }) => [dirname(path), path]));
  try {
    for (const path of first.values()) {
      const fd = inParent(path, place, "as they are", (parent) =>
        unless(["EACCES", "ENOENT"], () => openSync(parent.at("."), "r")),
      );
      if (fd != null) await batch.add(fd);
    }
    await batch.end();
  } finally {
    batch.abandon();
  }
}
