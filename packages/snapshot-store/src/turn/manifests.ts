/** The turns of a session on disk: the manifests of finished ones, the one in progress, and only the blobs they need. */
import { rmSync } from "node:fs";
import { namesIn } from "../content/atomic-file.js";
import type { Blobs } from "../content/blobs.js";
import type { SnapshotLimits } from "../limits.js";
import type { Direction } from "../types.js";
import type { Roots } from "../workspace/roots.js";
import type { TurnResult } from "./capture.js";
import {
  appendToHistory,
  EMPTY_HISTORY,
  type HistoryContent,
  type HistoryRow,
  type KeptTurn,
  readHistory,
  replaceHistory,
  withEnded,
} from "./history-file.js";
import { buildingManifest, isSnapId, type Manifest, readManifest, shasOf, writingManifest } from "./manifest.js";
import { type OpenTurn, openTurn, reopenTurn } from "./open-turn.js";

/** A longer history file is replaced by one without rows. */
const MAX_FILE_BYTES = 1024 * 1024;

export type Manifests = ReturnType<typeof createManifests>;

export function createManifests(directory: string, blobs: Blobs, roots: Roots, limits: SnapshotLimits) {
  const snaps = `${directory}/snaps`;
  const cache = new Map<string, Manifest>();
  let content: HistoryContent | null = null;

  function current(): HistoryContent {
    content ??= readHistory(directory, readable);
    return content;
  }

  /** The turns of all readable manifests, whatever the history says. */
  function readable(): KeptTurn[] {
    return namesIn(snaps)
      .filter(isSnapId)
      .flatMap((snap) => {
        try {
          return [{ turn: manifest(snap).turn, snap }];
        } catch {
          return [];
        }
      });
  }

  function save(next: HistoryContent): void {
    replaceHistory(directory, next);
    content = { ...next, outdated: false };
  }

  /** Appends rows to the history file and returns its size; null when the file is missing or outdated. */
  function append(rows: readonly HistoryRow[]): number | null {
    return current().outdated ? null : appendToHistory(directory, rows);
  }

  function manifest(snapId: string): Manifest {
    const known = cache.get(snapId) ?? readManifest(snaps, snapId, roots);
    cache.set(snapId, known);
    return known;
  }

  function neededBlobs(): Set<string> | null {
    const needed = new Set<string>();
    try {
      for (const { snap } of current().kept) for (const sha of shasOf(manifest(snap))) needed.add(sha);
      return needed;
    } catch {
      // A manifest that cannot be read may need any blob.
      return null;
    }
  }

  function keep(kept: readonly KeptTurn[]): void {
    save({ ...current(), kept });
    const names = new Set(kept.map(({ snap }) => snap));
    for (const name of namesIn(snaps)) {
      if (names.has(name) || !isSnapId(name)) continue;
      cache.delete(name);
      rmSync(`${snaps}/${name}`, { recursive: true, force: true });
    }
    const needed = neededBlobs();
    if (needed === null) return;
    for (const sha of blobs.list().keys()) if (!needed.has(sha)) blobs.remove(sha);
  }

  function shrink(): void {
    let dropped = false;
    while (blobs.bytes() > limits.sessionBytes && current().kept.length > 1) {
      keep(current().kept.slice(1));
      dropped = true;
    }
    if (dropped) cache.clear();
  }

  /** False for a row about a path outside the workspace: any program may have written the file. */
  function isInWorkspace({ path, dir }: HistoryRow): boolean {
    const place = path ?? dir;
    return place === undefined || roots.locate(place) !== null;
  }

  function write(rows: readonly HistoryRow[]): void {
    if (append(rows) === null) save({ ...current(), open: [...current().open, ...rows] });
  }

  /** Records the end of a turn. A session that never changed a file gets no file on disk. */
  function end(turn: number, snap: string | null): void {
    const ended = { turn, snap };
    const next = withEnded(current(), ended);
    const size = append([{ ended }]);
    if (size === null ? snap !== null || next.outdated : size > MAX_FILE_BYTES) save(next);
    else content = next;
  }

  return {
    /** The manifests of the given turns in the order of the restore. A turn that changed no file has none. */
    of(turns: readonly number[], direction: Direction) {
      const { kept } = current();
      const inOrder = direction === "undo" ? [...kept].reverse() : kept;
      return turns.flatMap((turn) => inOrder.filter((each) => each.turn === turn)).map(({ snap }) => manifest(snap));
    },
    /** Every manifest, oldest first. */
    all: () => current().kept.map(({ snap }) => manifest(snap)),
    manifest,
    /** The turn that a crash interrupted, if any; the caller must end it. */
    interrupted: () => reopenTurn(current().open.filter(isInWorkspace), write),
    begin: (turn: number) => openTurn(turn, write),
    /** Writes the manifest of a turn; null when it changed nothing. */
    *ending({ turn }: OpenTurn, { steps, dirs, skipped }: TurnResult, now: number) {
      if (steps.size === 0 && dirs.size === 0 && skipped.size === 0) {
        end(turn, null);
        return null;
      }
      const snap_id = `snap-${current().counter + 1}-${Math.trunc(now)}`;
      const made = yield* buildingManifest({ snap_id, turn, timestamp: now / 1000 }, steps, dirs, skipped);
      yield* writingManifest(snaps, made);
      cache.set(snap_id, made);
      end(turn, snap_id);
      shrink();
      return made;
    },
    /** Removes the manifests of all other turns, and the blobs that only they need. */
    keepOnly(turns: ReadonlySet<number>) {
      const { kept } = current();
      const reachable = kept.filter(({ turn }) => turns.has(turn));
      if (reachable.length < kept.length) keep(reachable);
    },
    /** Forgets everything, once the directory was removed. */
    reset() {
      cache.clear();
      content = EMPTY_HISTORY;
    },
  };
}
