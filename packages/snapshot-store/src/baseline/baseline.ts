/** The state of one root, shared by its sessions: an index and the content of every file, so that any command can be undone. */
import { createBlobs, sha256 } from "../content/blobs.js";
import { hasContent, type SkipReason, type StoredState, sameStamp, statIfAny } from "../content/file-state.js";
import type { SnapshotLimits } from "../limits.js";
import { createPacer, createSerial, paced } from "../pacer.js";
import { createFacts, type Fact } from "./facts.js";
import { rulesAbove } from "./ignore-rules.js";
import { factOf, settleUnmetFacts } from "./indexed-file.js";
import { noteSkipped, type ObservedCommand, observeCommand } from "./observed-command.js";
import { scan } from "./scan.js";
import { createFindings, type ScanContext } from "./scan-context.js";
import { createDirectoryNode, type DirectoryNode, type FileNode, filesOf } from "./tree.js";
import { createWatcher } from "./watch.js";

export type Baseline = ReturnType<typeof createBaseline>;

/** A blob younger than this may belong to a command running in another process. */
const PRUNE_AGE_MS = 60 * 60 * 1000;
/** Roughly how long it takes to check one file. */
const LOOK_MS = 0.005;
/** After a command that took this many times longer than checking every file, check every file: watchers miss some changes. */
const WORTH_A_LOOK = 10;
/** If the scan before a command took longer than this, scan a second time. */
const LONG_MS = 100;

/** The directory of a root's baseline below the store's root. */
export function baselineDirectory(storeRoot: string, root: string): string {
  return `${storeRoot}/.baselines/${sha256(Buffer.from(root, "utf8")).slice(0, 32)}`;
}

export function createBaseline(options: {
  readonly directory: string;
  readonly root: string;
  readonly ownData: readonly string[];
  readonly limits: SnapshotLimits;
  readonly clock: () => number;
  readonly monotonic: () => number;
  readonly onIndexing: (files: number | null) => void;
}) {
  const { directory, root, ownData, limits, clock, monotonic, onIndexing } = options;
  const blobs = createBlobs(`${directory}/blobs`);
  const facts = createFacts(`${directory}/facts.ndjson`);
  const watcher = createWatcher(root, `${directory}/bell`);
  const runs = new Set<ObservedCommand>();
  const startedBy = new WeakMap<ObservedCommand, number>();
  const usage = { files: 0, bytes: 0, scans: 0 };
  /** Facts of earlier processes about files that this process has not scanned yet. */
  let unmet: Map<string, Fact> | null = null;
  let tree: DirectoryNode | null = null;
  /** Facts that are not on disk yet. */
  const learned = new Map<string, Fact>();
  /** Why part of the workspace is not in the index. */
  let truncated: SkipReason | null = null;
  const serial = createSerial();

  function exclusive<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const result = serial(work);
    return signal === undefined ? result : unlessAborted(result, signal);
  }

  async function bringUpToDate(how: Pick<ScanContext, "thorough" | "explore" | "signal">): Promise<void> {
    how.signal?.throwIfAborted();
    const above = rulesAbove(root);
    const found = createFindings(how.explore ? null : truncated);
    const pacer = createPacer(how.signal);
    unmet ??= await paced(facts.loading(), pacer);
    await watcher.catchUp();
    const isFirst = tree === null;
    tree ??= createDirectoryNode(root, above, 0);
    const now = watcher.stampClock();
    const shared = { root: tree, rulesAbove: above, ownData, blobs, limits, runs, facts: unmet, usage, watcher, now };
    const deadline = performance.now() + limits.baselineMs;
    const onPause = isFirst ? () => onIndexing(usage.files) : () => {};
    const context: ScanContext = { ...shared, ...how, pacer, deadline, found, onPause };
    try {
      await scan(context);
      if (found.hardLink && !how.thorough) await scan({ ...context, thorough: true });
      if (found.truncated === null) settleUnmetFacts(context);
      truncated = found.truncated;
      if (truncated !== null) noteSkipped(runs, root, truncated);
    } finally {
      if (isFirst) onIndexing(null);
      const saving = createPacer();
      for (const fact of found.learned) {
        learned.set(fact.path, fact);
        await saving.pause();
      }
      await saveFacts();
    }
  }

  /** Saves nothing while a command runs: after a crash, the next process must still see its changes as new. */
  async function saveFacts(): Promise<void> {
    if (runs.size > 0) return;
    await paced(facts.saving([...learned.values()], allFacts, usage.files), createPacer());
    learned.clear();
  }

  async function endCommand(run: ObservedCommand): Promise<void> {
    runs.delete(run);
    await saveFacts();
  }

  /** A long scan is outdated when it ends. The second one keeps changes that others made meanwhile from counting as the command's. */
  async function prepareCommand(signal: AbortSignal | undefined): Promise<void> {
    const started = performance.now();
    await bringUpToDate({ thorough: tree === null, explore: true, signal });
    if (performance.now() - started > LONG_MS) await bringUpToDate({ thorough: false, explore: false, signal });
    signal?.throwIfAborted();
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
    /** Brings the index up to date and starts to note what changes. Stops soon after `signal` does, with its reason. */
    startCommand(signal?: AbortSignal) {
      return exclusive(async () => {
        await prepareCommand(signal);
        const began = monotonic();
        const run = observeCommand(watcher.stampClock()(), () => monotonic() - began);
        startedBy.set(run, clock());
        runs.add(run);
        if (truncated !== null) noteSkipped([run], root, truncated);
        return run;
      }, signal);
    },
    /** Brings the index up to date and calls `keep`, which stores everything that changed since the run started. */
    finishCommand(run: ObservedCommand, keep: () => Promise<void>) {
      return exclusive(async () => {
        try {
          const took = clock() - startedBy.get(run)!;
          const thorough = took > usage.files * LOOK_MS * WORTH_A_LOOK;
          await bringUpToDate({ thorough, explore: false, signal: undefined });
          for (const path of run.foreign) run.files.delete(path);
          await keep();
        } finally {
          await endCommand(run);
        }
      });
    },
    /** Stops observing a command whose changes are not needed. */
    abandonCommand(run: ObservedCommand) {
      runs.delete(run);
    },
    /** Keeps the changes of a command that a crash interrupted. Returns false when some may be missing because the index was saved since. */
    resumeCommand(startedAt: number, keep: (run: ObservedCommand) => Promise<void>) {
      return exclusive(async () => {
        if (tree !== null) return false;
        const movedOn = facts.savedAfter(startedAt);
        const run = observeCommand(startedAt, null);
        runs.add(run);
        try {
          await bringUpToDate({ thorough: true, explore: true, signal: undefined });
          await keep(run);
        } finally {
          await endCommand(run);
        }
        return !movedOn;
      });
    },
    /** Call before another session writes this path, so that the edit does not count as one of the running commands'. */
    announce(path: string, own: ReadonlySet<ObservedCommand>) {
      for (const run of runs) if (!own.has(run)) run.foreign.add(path);
    },
    /** The state of a file, if the index is up to date for it. */
    current(path: string): StoredState | null {
      const node = find(path);
      if (node === null || node.racy || !hasContent(node.state)) return null;
      const stat = statIfAny(node.address);
      return stat !== null && sameStamp(node, stat) ? node.state : null;
    },
    /** Removes content that no file has any more and that is not recent. Returns how much it removed. */
    prune() {
      return exclusive(async () => {
        const pacer = createPacer();
        const needed = new Set<string>();
        const removed = { blobs: 0, bytes: 0 };
        if (runs.size > 0) return removed;
        for (const fact of [...(unmet ?? (await paced(facts.loading(), pacer))).values(), ...allFacts()]) {
          if (hasContent(fact.state)) needed.add(fact.state.sha);
        }
        const youngest = Date.now() - PRUNE_AGE_MS;
        for (const [sha, stat] of await paced(blobs.listing(), pacer)) {
          if (needed.has(sha) || stat.mtimeMs > youngest) continue;
          blobs.remove(sha);
          removed.blobs += 1;
          removed.bytes += stat.bytes;
          await pacer.pause();
        }
        return removed;
      });
    },
  };
}

// --- internal ---

/** Rejects as soon as the signal aborts, because another session's scan may take seconds. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
