/** Keeps the whole store bounded: removes directories that were unused for long, then the oldest until the rest fits. */
import { lstatSync } from "node:fs";
import type { Baseline } from "./baseline/baseline.js";
import { namesIn } from "./content/atomic-file.js";
import { isOwnDirectory, removeOwnDirectory } from "./content/own-files.js";
import { unless } from "./errors.js";
import type { SnapshotLimits } from "./limits.js";
import { createPacer, paced, type Steps } from "./pacer.js";
import type { GcReport } from "./types.js";

interface Candidate {
  readonly kind: "session" | "baseline";
  readonly name: string;
  readonly directory: string;
  readonly bytes: number;
  readonly touchedMs: number;
}

/** Another process may be using a directory that changed this recently. */
const BUSY_MS = 60 * 60 * 1000;

export async function collectGarbage(input: {
  readonly root: string;
  readonly limits: SnapshotLimits;
  readonly now: number;
  readonly keep: ReadonlySet<string>;
  readonly sessionIds: readonly string[];
  /** Directory -> the baseline open in this process. */
  readonly baselines: ReadonlyMap<string, Baseline>;
  readonly signal: AbortSignal | undefined;
}): Promise<GcReport> {
  const { limits, now } = input;
  let blobsRemoved = 0;
  let bytesFreed = 0;
  for (const baseline of input.baselines.values()) {
    const pruned = await baseline.prune();
    blobsRemoved += pruned.blobs;
    bytesFreed += pruned.bytes;
  }
  const all = await candidates(input);
  let total = all.reduce((sum, each) => sum + each.bytes, 0);
  const sessionsRemoved: string[] = [];
  let baselinesRemoved = 0;
  for (const each of all.sort((a, b) => a.touchedMs - b.touchedMs)) {
    input.signal?.throwIfAborted();
    const idle = now - each.touchedMs;
    const inUse = each.kind === "session" ? input.keep.has(each.name) : input.baselines.has(each.directory);
    if (inUse || idle < BUSY_MS || (idle < limits.idleMs && total <= limits.totalBytes)) continue;
    if (!removeOwnDirectory(each.directory)) continue;
    total -= each.bytes;
    bytesFreed += each.bytes;
    if (each.kind === "session") sessionsRemoved.push(each.name);
    else baselinesRemoved += 1;
  }
  return { sessionsRemoved, baselinesRemoved, blobsRemoved, bytesFreed, bytesKept: total };
}

// --- internal ---

async function candidates(input: Parameters<typeof collectGarbage>[0]): Promise<Candidate[]> {
  const found: Candidate[] = [];
  const baselinesRoot = `${input.root}/.baselines`;
  const places = [
    ...input.sessionIds.map((name) => ({ kind: "session" as const, name, directory: `${input.root}/${name}` })),
    ...namesIn(baselinesRoot).map((name) => ({
      kind: "baseline" as const,
      name,
      directory: `${baselinesRoot}/${name}`,
    })),
  ];
  const pacer = createPacer(input.signal);
  for (const place of places) {
    input.signal?.throwIfAborted();
    // Another process may remove it meanwhile.
    if (!unless(["ENOENT"], () => isOwnDirectory(place.directory))) continue;
    const { bytes, touchedMs } = await paced(measuring(place.directory), pacer);
    found.push({ ...place, bytes, touchedMs });
    await pacer.pause();
  }
  return found;
}

/** Measures a directory. A blob shared by hard links counts in each, so the sum may be too large, never too small. */
function* measuring(directory: string): Steps<{ bytes: number; touchedMs: number }> {
  let bytes = 0;
  let touchedMs = 0;
  const pending = [directory];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    yield;
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    touchedMs = Math.max(touchedMs, stat.mtimeMs);
    if (stat.isDirectory()) for (const name of namesIn(path)) pending.push(`${path}/${name}`);
    else bytes += stat.size;
  }
  return { bytes, touchedMs };
}
