/** Prepares files near their destination, in one private directory per root, so that a full disk or a bad blob is found before the restore. */
import {
  closeSync,
  constants,
  fchmodSync,
  fsync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
} from "node:fs";
import { promisify } from "node:util";
import type { Blobs } from "../content/blobs.js";
import { writingAll } from "../content/pieces.js";
import { SnapshotError, unless } from "../errors.js";
import { atOnce, createPacer, paced, type Steps } from "../pacer.js";
import { inPinned, type PinnedDir, pinBelow } from "../workspace/pinned-dir.js";
import type { Roots } from "../workspace/roots.js";
import type { FileOp } from "./plan.js";

export type Stage = Awaited<ReturnType<typeof stageFiles>>;

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

/** Prepares and syncs the content of every op that puts a file or link in place. */
export async function stageFiles(ops: readonly FileOp[], name: string, roots: Roots, blobs: Blobs) {
  const dirs = new Map<string, PinnedDir>();
  const staged = new Map<string, { readonly dir: PinnedDir; readonly name: string }>();
  const close = () => {
    for (const dir of dirs.values()) dir.close();
    dirs.clear();
  };
  const batch = createSyncBatch();
  const pacer = createPacer();
  try {
    for (const [index, op] of ops.entries()) {
      if (op.to.kind === "absent") continue;
      const { root } = roots.locate(op.path)!;
      const dir = dirs.get(root) ?? makeStage(root, name);
      dirs.set(root, dir);
      staged.set(op.path, { dir, name: String(index) });
      const fd = await paced(preparing(dir.at(String(index)), op, blobs), pacer);
      if (fd !== null) await batch.add(fd);
      await pacer.pause();
    }
    await batch.end();
  } catch (error) {
    batch.abandon();
    close();
    throw error;
  }
  return {
    /** The address of an op's prepared file. */
    address(op: FileOp) {
      const at = staged.get(op.path)!;
      return at.dir.at(at.name);
    },
    /** Prepares the file again, in its destination's directory, because a rename cannot cross a mount point. */
    beside(op: FileOp, directory: PinnedDir) {
      const address = directory.at(`${name}-${staged.get(op.path)!.name}`);
      rmSync(address, { force: true });
      const fd = atOnce(preparing(address, op, blobs));
      if (fd === null) return address;
      try {
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
      return address;
    },
    close,
  };
}

/** Removes the prepared files that were not used. */
export function removeStage(name: string, roots: Roots): void {
  for (const root of roots.paths) {
    const isEmptied = inPinned(root, [name], (dir) => {
      for (const entry of readdirSync(dir.at("."))) unlinkSync(dir.at(entry));
      return true;
    });
    if (isEmptied) inPinned(root, [], (parent) => rmdirSync(parent.at(name)));
  }
}

/** Syncs many open files at once, since a file system commits many for the price of one. */
export function createSyncBatch() {
  let waiting: number[] = [];

  async function end(): Promise<void> {
    const fds = waiting;
    waiting = [];
    // Wait for all, even if one fails: the descriptor of a file that is closed during its sync may be reused by then.
    const results = await Promise.allSettled(fds.map((fd) => syncToDisk(fd)));
    for (const fd of fds) closeSync(fd);
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  return {
    /** Takes over an open file, and will sync and close it. */
    async add(fd: number) {
      waiting.push(fd);
      if (waiting.length >= SYNCED_AT_ONCE) await end();
    },
    /** Resolves when every added file is synced. */
    end,
    /** Closes the files that were not synced. */
    abandon() {
      for (const fd of waiting.splice(0)) closeSync(fd);
    },
  };
}

// --- internal ---

const SYNCED_AT_ONCE = 32;
const syncToDisk = promisify(fsync);

function makeStage(root: string, name: string): PinnedDir {
  const isMade = inPinned(root, [], (parent) => {
    unless(["EEXIST"], () => mkdirSync(parent.at(name), { mode: 0o700 }));
    return true;
  });
  if (!isMade) throw new SnapshotError("workspace_moved", `${root} is gone`);
  const dir = pinBelow(root, [name]);
  if (dir === null) throw new SnapshotError("workspace_moved", `${root}/${name} was replaced`);
  return dir;
}

/** Writes one prepared file and returns its open descriptor, which is not synced yet; null for a link. */
function* preparing(address: string | Buffer, op: FileOp, blobs: Blobs): Steps<number | null> {
  if (op.to.kind === "absent") return null;
  const bytes = yield* blobs.reading(op.to.sha);
  if (bytes === null) throw new SnapshotError("io", `the stored version of ${op.path} is missing or damaged`);
  if (op.to.kind === "link") {
    symlinkSync(bytes, address);
    return null;
  }
  const fd = openSync(address, CREATE, 0o600);
  let ready = false;
  try {
    yield* writingAll(fd, bytes);
    fchmodSync(fd, op.to.mode);
    ready = true;
    return fd;
  } finally {
    if (!ready) closeSync(fd);
  }
}
