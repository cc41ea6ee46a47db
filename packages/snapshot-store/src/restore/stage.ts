/** Files prepared beside their destination, in one private directory per root: full disks and bad blobs show up here. */
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

/** Prepares the content of every op that puts something in place; it is on the disk when this returns. */
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
    /** Where the prepared file of an op is. */
    address(op: FileOp) {
      const at = staged.get(op.path)!;
      return at.dir.at(at.name);
    },
    /** Prepares it once more, in the directory it goes to: no file can be moved across the edge of a mount. */
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

/** Open files on their way to the disk, many at once, since a file system commits many for the price of one. */
export function createSyncBatch() {
  let waiting: number[] = [];

  async function end(): Promise<void> {
    const fds = waiting;
    waiting = [];
    // All of them, though one fails: a file that is closed while it is synced may be another one by then.
    const results = await Promise.allSettled(fds.map((fd) => syncToDisk(fd)));
    for (const fd of fds) closeSync(fd);
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  return {
    /** Takes over an open file: it will be synced and closed. */
    async add(fd: number) {
      waiting.push(fd);
      if (waiting.length >= SYNCED_AT_ONCE) await end();
    },
    /** Everything added is on the disk when this resolves. */
    end,
    /** Closes what is still open. */
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

/** Returns the open file, still to be synced; null for a link. */
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
