/** The turns of a session on disk: the stack of finished ones, the one in progress, and only the blobs they need. */
import { rmSync } from "node:fs";
import type { Blobs } from "../content/blobs.js";
import { namesIn } from "../content/names-in.js";
import type { SnapshotLimits } from "../limits.js";
import type { Steps } from "../pacer.js";
import type { Roots } from "../workspace/roots.js";
import type { TurnResult } from "./capture.js";
import { appendToHistory, type HistoryContent, type Row, readHistory, replaceHistory } from "./history-file.js";
import { buildingManifest, type Manifest, readManifest, shasOf, writingManifest } from "./manifest.js";
import { type OpenTurn, openTurn, reopenTurn } from "./open-turn.js";
import { discardRedo, dropOldest, push, type Stack } from "./stack.js";

export interface History {
  stack(): Stack;
  manifest(snapId: string): Manifest;
  /** The turn that a crash left, if any; it is still to be ended. */
  interrupted(): OpenTurn | null;
  /** Starts a turn: what could be redone is discarded. */
  begin(turn: number): OpenTurn;
  /** Makes a turn an undo step; null when it changed nothing. */
  ending(turn: OpenTurn, result: TurnResult, now: number): Steps<Manifest | null>;
  /** Another writer (a restore) replaced what is on disk. */
  reload(): void;
}

/** A longer file is replaced by one that holds the stack alone. */
const MAX_FILE_BYTES = 1024 * 1024;

export function createHistory(directory: string, blobs: Blobs, roots: Roots, limits: SnapshotLimits): History {
  const snaps = `${directory}/snaps`;
  const manifests = new Map<string, Manifest>();
  let content: HistoryContent | null = null;

  function load(): HistoryContent {
    content ??= readHistory(directory);
    return content;
  }

  const current = (): Stack => load().stack;

  function save(stack: Stack): void {
    replaceHistory(directory, stack);
    content = { stack, open: [] };
  }

  function manifest(snapId: string): Manifest {
    const known = manifests.get(snapId) ?? readManifest(snaps, snapId, roots);
    manifests.set(snapId, known);
    return known;
  }

  function neededBlobs(): Set<string> | null {
    const needed = new Set<string>();
    try {
      for (const snapId of snapIds(current())) for (const sha of shasOf(manifest(snapId))) needed.add(sha);
      return needed;
    } catch {
      // A manifest that cannot be read may need any blob.
      return null;
    }
  }

  function collect(): void {
    const kept = new Set(snapIds(current()));
    for (const name of namesIn(snaps)) {
      if (kept.has(name)) continue;
      manifests.delete(name);
      rmSync(`${snaps}/${name}`, { recursive: true, force: true });
    }
    const needed = neededBlobs();
    if (needed === null) return;
    for (const sha of blobs.list().keys()) if (!needed.has(sha)) blobs.remove(sha);
  }

  function shrink(): void {
    let dropped = false;
    while (blobs.bytes() > limits.sessionBytes && current().undo.length > 1) {
      save(dropOldest(current()));
      collect();
      dropped = true;
    }
    if (dropped) manifests.clear();
  }

  function discard(): void {
    if (current().redo.length === 0) return;
    save(discardRedo(current()));
    collect();
  }

  /** The file may be anybody's work: what it says of other places is nothing that a turn of this session found. */
  function isInWorkspace({ path, dir }: Row): boolean {
    const place = path ?? dir;
    return place === undefined || roots.locate(place) !== null;
  }

  function write(rows: readonly Row[]): void {
    if (appendToHistory(directory, rows) === null) replaceHistory(directory, current(), rows);
  }

  /** A session that never changed a file leaves nothing on disk; its steps are written with the first that did. */
  function pushStep(turn: number, snap: string | null): void {
    const step = { turn, snap };
    const stack = push(current(), step);
    const size = appendToHistory(directory, [{ ended: step }]);
    content = { stack, open: [] };
    if (size === null ? snap !== null : size > MAX_FILE_BYTES) save(stack);
  }

  return {
    stack: current,
    manifest,
    interrupted: () => reopenTurn(load().open.filter(isInWorkspace), write),
    begin(turn) {
      discard();
      return openTurn(turn, write);
    },
    *ending({ turn }, { steps, dirs, skipped }, now) {
      if (steps.size === 0 && dirs.size === 0 && skipped.size === 0) {
        pushStep(turn, null);
        return null;
      }
      const snap_id = `snap-${current().counter + 1}-${Math.trunc(now)}`;
      const made = yield* buildingManifest({ snap_id, turn, timestamp: now / 1000 }, steps, dirs, skipped);
      yield* writingManifest(snaps, made);
      manifests.set(snap_id, made);
      pushStep(turn, snap_id);
      shrink();
      return made;
    },
    reload() {
      content = null;
    },
  };
}

// --- internal ---

function snapIds(stack: Stack): string[] {
  return [...stack.undo, ...stack.redo].flatMap(({ snap }) => (snap === null ? [] : [snap]));
}
