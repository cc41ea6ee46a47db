/**
 * The state of one workspace root, shared by every session that works in it: an index of all files and the content of each,
 * so that whatever a command does, what was there before is known.
 */
import { type Blobs, createBlobs, sha256 } from "../content/blobs.js";
import { type StoredState, statIfAny } from "../content/file-state.js";
import type { SnapshotLimits } from "../limits.js";
import { createFacts, type Fact } from "./facts.js";
import { rulesAbove } from "./ignore-rules.js";
import { createRun, type Run } from "./run.js";
import { factOf, type ScanContext, scan, settleUnmetFacts } from "./scan.js";
import { createDirectoryNode, type DirectoryNode, type FileNode, filesOf, sameStamp } from "./tree.js";

export interface Baseline {
  readonly blobs: Blobs;
  /** Brings the index up to date and starts to note what changes. */
  startRun(): Promise<Run>;
  /** Brings the index up to date; the run then holds everything that changed since it started. */
  finishRun(run: Run): Promise<void>;
  /** Stops noting for a command whose result nobody wants. */
  abandonRun(run: Run): void;
  /** Takes up a command that a crash interrupted; false when the index already moved on. */
  resumeRun(startedAt: number): Promise<Run | null>;
  /** Another session is about to write this path: commands in progress must not claim the edit. */
  announce(path: string, own: ReadonlySet<Run>): void;
  /** The state of a file if the index is current for it. */
  current(path: string): StoredState | null;
  /** Removes content no file has any more and nobody stored lately; returns what was removed. */
  prune(): { readonly blobs: number; readonly bytes: number };
}

export interface BaselineOptions {
  readonly directory: string;
  readonly root: string;
  readonly ownData: string;
  readonly limits: SnapshotLimits;
  readonly clock: () => number;
}

/** A blob younger than this may belong to a command running in another process. */
const PRUNE_AGE_MS = 60 * 60 * 1000;

/** The directory of a root's baseline below the store's root. */
export function baselineDirectory(storeRoot: string, root: string): string {
  return `${storeRoot}/.baselines/${sha256(Buffer.from(root, "utf8")).slice(0, 32)}`;
}

export function createBaseline(options: BaselineOptions): Baseline {
  const { directory, root, ownData, limits, clock } = options;
  const blobs = createBlobs(`${directory}/blobs`, { fanOut: true });
  const facts = createFacts(`${directory}/facts.ndjson`);
  const runs = new Set<Run>();
  const usage = { files: 0, bytes: 0, truncated: false, scans: 0 };
  let tree: DirectoryNode | null = null;
  let queue: Promise<unknown> = Promise.resolve();

  function exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = queue.then(work);
    queue = result.catch(() => {});
    return result;
  }

  async function bringUpToDate(): Promise<void> {
    const above = rulesAbove(root);
    const known = tree === null ? facts.load() : new Map<string, Fact>();
    tree ??= createDirectoryNode(root, above);
    const context: ScanContext = {
      root: tree,
      rulesAbove: above,
      ownData,
      blobs,
      limits,
      runs,
      facts: known,
      usage,
      clock,
    };
    const learned = await scan(context);
    learned.push(...settleUnmetFacts(context));
    facts.save(learned, allFacts, usage.files);
  }

  function* allFacts(): Generator<Fact> {
    if (tree === null) return;
    for (const node of filesOf(tree)) if (node.stored > 0 || node.state.kind === "file") yield factOf(node);
  }

  function find(path: string): FileNode | null {
    if (tree === null || !path.startsWith(tree.path)) return null;
    const parts = path.slice(tree.path === "/" ? 1 : tree.path.length + 1).split("/");
    let node: DirectoryNode | undefined = tree;
    for (const part of parts.slice(0, -1)) node = node?.dirs.get(part);
    return node?.files.get(parts.at(-1)!) ?? null;
  }

  return {
    blobs,
    startRun() {
      return exclusive(async () => {
        await bringUpToDate();
        const run = createRun(clock());
        runs.add(run);
        if (usage.truncated) run.skipped.set(root, "quota");
        return run;
      });
    },
    finishRun(run) {
      return exclusive(async () => {
        try {
          await bringUpToDate();
        } finally {
          runs.delete(run);
        }
        for (const path of run.foreign) run.files.delete(path);
      });
    },
    abandonRun(run) {
      runs.delete(run);
    },
    resumeRun(startedAt) {
      return exclusive(async () => {
        if (tree !== null) return null;
        const run = createRun(startedAt);
        runs.add(run);
        try {
          await bringUpToDate();
        } finally {
          runs.delete(run);
        }
        return run;
      });
    },
    announce(path, own) {
      for (const run of runs) if (!own.has(run)) run.foreign.add(path);
    },
    current(path) {
      const node = find(path);
      if (node === null || node.racy || (node.state.kind !== "file" && node.state.kind !== "link")) return null;
      const stat = statIfAny(node.address);
      return stat !== null && sameStamp(node, stat) ? node.state : null;
    },
    prune() {
      const needed = new Set<string>();
      for (const fact of tree === null ? facts.load().values() : allFacts()) {
        if (fact.state.kind === "file" || fact.state.kind === "link") needed.add(fact.state.sha);
      }
      const removed = { blobs: 0, bytes: 0 };
      if (runs.size > 0) return removed;
      const youngest = Date.now() - PRUNE_AGE_MS;
      for (const [sha, stat] of blobs.list()) {
        if (needed.has(sha) || stat.mtimeMs > youngest) continue;
        blobs.remove(sha);
        removed.blobs += 1;
        removed.bytes += stat.bytes;
      }
      return removed;
    },
  };
}
