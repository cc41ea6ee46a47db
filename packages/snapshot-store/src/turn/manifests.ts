/** The turns of a session on disk: the manifests of finished ones, the one in progress, and only the blobs they need. */
import { rmSync } from "node:fs";
import { namesIn } from "../content/atomic-file.js";
import type { Blobs } from "../content/blobs.js";
import { orElse } from "../errors.js";
import type { SnapshotLimits } from "../limits.js";
import type { Direction } from "../types.js";
import type { Roots } from "../workspace/roots.js";
import type { TurnResult } from "./capture.js";
import {
  appendToHistory,
  EMPTY_HISTORY,
  type EndedTurn,
  type HistoryContent,
  type HistoryRow,
  type KeptTurn,
  readHistory,
  replaceHistory,
  withEnded,
} from "./history-file.js";
import {
  buildingManifest,
  droppedManifest,
  isSnapId,
  type Manifest,
  readManifest,
  shasOf,
  writingManifest,
} from "./manifest.js";
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
      .flatMap((snap) => orElse(() => ({ turn: manifest(snap).turn, snap }), []));
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
    // A manifest that cannot be read may need any blob.
    return orElse(() => new Set(snapped(current()).flatMap(({ snap }) => shasOf(manifest(snap)))), null);
  }

  function keep(kept: readonly EndedTurn[]): void {
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
    for (const dropped of snapped(current()).slice(0, -1)) {
      if (blobs.bytes() <= limits.sessionBytes) return;
      keep(current().kept.filter((each) => each !== dropped));
    }
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
    /** The manifests of the given turns, in the order of the restore. A turn without changed files has none. If one was removed, its files are skipped. */
    of(turns: readonly number[], direction: Direction, edited: (turn: number) => Iterable<string>): Manifest[] {
      return turns.flatMap((turn) => {
        const own = current().kept.filter((each) => each.turn === turn);
        if (own.length === 0) return droppedManifest(turn, edited(turn));
        const made = own.flatMap(({ snap }) => (snap === null ? [] : manifest(snap)));
        return direction === "undo" ? made.reverse() : made;
      });
    },
    /** Every manifest, oldest first. */
    all: () => snapped(current()).map(({ snap }) => manifest(snap)),
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
      const isReachable = ({ turn }: EndedTurn) => turns.has(turn);
      if (!snapped(current()).every(isReachable)) keep(current().kept.filter(isReachable));
    },
    /** Forgets everything, once the directory was removed. */
    reset() {
      cache.clear();
      content = EMPTY_HISTORY;
    },
  };
}

// --- internal ---

/** The turns that changed files. */
function snapped({ kept }: HistoryContent): KeptTurn[] {
  return kept.filter((each): each is KeptTurn => each.snap !== null);
}
