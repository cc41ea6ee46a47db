/** Carries a plan out, so that doing it again after a crash ends in the same place. */
import { lchownSync, lstatSync, openSync, renameSync, rmdirSync, type Stats, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import {
  ABSENT,
  type FileState,
  isAbsentAsFile,
  observe,
  type StoredState,
  sameContent,
  statIfAny,
} from "../content/file-state.js";
import { errnoOf } from "../errors.js";
import { createPacer } from "../pacer.js";
import { mkdirIfMissing, pinBelow } from "../workspace/pinned-dir.js";
import type { DirectoryOp, FileOp, Plan } from "./plan.js";
import { type Stage, stageFiles } from "./stage.js";
import { createSyncBatch } from "./sync-batch.js";
import { inParent, lookAt, type Workplace } from "./workplace.js";

/** Path -> why its op was given up at the last moment. */
export type LateConflicts = ReadonlyMap<string, string>;

/** Prepares a plan: every file's content waits beside its destination, and what it replaces is in the store. */
export async function prepare(plan: Plan, stageName: string, place: Workplace): Promise<Stage> {
  const pacer = createPacer();
  for (const op of plan.files) {
    await pacer.pause();
    const seen = lookAt(op.path, place);
    if (seen.bytes !== null && (seen.state.kind === "file" || seen.state.kind === "link")) {
      place.blobs.put(seen.state.sha, seen.bytes);
    }
  }
  return stageFiles(plan.files, stageName, place.roots, place.blobs);
}

/** Deletions first, then directories, then files: a file can take a directory's place and the reverse. Modes come last. */
export async function carryOut(plan: Plan, stage: Stage, place: Workplace): Promise<LateConflicts> {
  const late = new Map<string, string>();
  const pacer = createPacer();
  const deletions = plan.files.filter((op) => op.to.kind === "absent").sort(deepestFirst);
  const directories = [...plan.dirs].sort(deepestFirst);
  const placements = plan.files.filter((op) => op.to.kind !== "absent");
  for (const dir of [...directories].reverse()) if (dir.from !== null) setMode(dir, dir.from | OPEN_TO_OWNER, place);
  for (const op of deletions) {
    const reason = deleteFile(op, place);
    if (reason !== null) late.set(op.path, reason);
    await pacer.pause();
  }
  for (const dir of directories.filter((op) => op.to === null)) {
    removeDirectory(dir, place);
    await pacer.pause();
  }
  for (const dir of directories.filter((op) => op.to !== null).reverse()) {
    makeDirectory(dir, place);
    await pacer.pause();
  }
  for (const op of placements) {
    const reason = putFile(op, stage, place);
    if (reason !== null) late.set(op.path, reason);
    await pacer.pause();
  }
  await syncParents([...plan.files, ...plan.dirs], place);
  for (const dir of directories) if (dir.to !== null) setMode(dir, dir.to, place);
  return late;
}

/** The plan that takes another one back. */
export function reversed(plan: Plan): Plan {
  const storedOf = (state: FileState): StoredState => (state.kind === "file" || state.kind === "link" ? state : ABSENT);
  return {
    files: plan.files.map(({ path, from, to }) => ({ path, from: to, to: storedOf(from) })),
    dirs: plan.dirs.map(({ path, from, to }) => ({ path, from: to, to: from })),
    outcomes: plan.outcomes,
  };
}

// --- internal ---

/** A directory that goes or gets another mode has to let us in meanwhile. */
const OPEN_TO_OWNER = 0o700;

function deepestFirst(a: { readonly path: string }, b: { readonly path: string }): number {
  return b.path.split("/").length - a.path.split("/").length;
}

/** Whether an op still applies: somebody may have changed the file since the plan was made. */
function standing(op: FileOp, address: string | Buffer, place: Workplace): "go" | "done" | "changed" {
  const { state } = observe(address, place.fileBytes);
  if (equal(state, op.to)) return "done";
  return equal(state, op.from) ? "go" : "changed";
}

function equal(a: FileState, b: FileState): boolean {
  if (a.kind === "skipped" || b.kind === "skipped") return a.kind === b.kind;
  return sameContent(a, b) && (a.kind !== "file" || b.kind !== "file" || a.mode === b.mode);
}

function deleteFile(op: FileOp, place: Workplace): string | null {
  const reason = inParent(op.path, place, "as they are", (parent, name) => {
    const address = parent.at(name);
    const now = standing(op, address, place);
    if (now === "done") return null;
    if (now === "changed" || !parent.inPlace()) return "changed_meanwhile";
    return unlessMoved(() => unlinkSync(address));
  });
  return reason ?? null;
}

function putFile(op: FileOp, stage: Stage, place: Workplace): string | null {
  const reason = inParent(op.path, place, "made", (parent, name) => {
    const address = parent.at(name);
    const now = standing(op, address, place);
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

/** Somebody took the place away in the last moment: this file is theirs, the others go on. */
function unlessMoved(work: () => void): string | null {
  try {
    work();
    return null;
  } catch (error) {
    const code = errnoOf(error) ?? "";
    if (["ENOENT", "ENOTDIR", "EISDIR", "EEXIST", "ENOTEMPTY"].includes(code)) return "changed_meanwhile";
    throw error;
  }
}

/** A restore by root leaves files with those who had them. */
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

/** A directory that holds something else stays. */
function removeDirectory(op: DirectoryOp, place: Workplace): void {
  inParent(op.path, place, "as they are", (parent, name) => {
    if (!parent.inPlace()) return;
    try {
      rmdirSync(parent.at(name));
    } catch (error) {
      const code = errnoOf(error);
      if (code !== "ENOENT" && code !== "ENOTEMPTY" && code !== "EEXIST" && code !== "ENOTDIR") throw error;
    }
  });
}

function setMode(op: DirectoryOp, mode: number, place: Workplace): void {
  const { root, parts } = place.roots.locate(op.path)!;
  const dir = pinBelow(root, parts);
  if (dir === null || dir === "blocked") return;
  try {
    dir.chmod(mode);
  } finally {
    dir.close();
  }
}

/** The renames and removals themselves; without this, a power cut could undo some after the journal is gone. */
async function syncParents(ops: readonly { readonly path: string }[], place: Workplace): Promise<void> {
  if (process.platform === "win32") return;
  const batch = createSyncBatch();
  const first = new Map(ops.map(({ path }) => [dirname(path), path]));
  try {
    for (const path of first.values()) {
      const fd = inParent(path, place, "as they are", (parent) => openIfReadable(parent.at(".")));
      if (fd != null) await batch.add(fd);
    }
    await batch.end();
  } finally {
    batch.abandon();
  }
}

function openIfReadable(directory: string | Buffer): number | null {
  try {
    return openSync(directory, "r");
  } catch (error) {
    if (errnoOf(error) === "EACCES" || errnoOf(error) === "ENOENT") return null;
    throw error;
  }
}
