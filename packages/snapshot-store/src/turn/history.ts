/** The finished turns of a session on disk: its stack, its manifests, and only the blobs they need. */
import { rmSync } from "node:fs";
import type { Blobs } from "../content/blobs.js";
import { namesIn } from "../content/names-in.js";
import type { SnapshotLimits } from "../limits.js";
import type { Roots } from "../workspace/roots.js";
import type { TurnResult } from "./capture.js";
import { buildManifest, type Manifest, readManifest, removeManifest, shasOf, writeManifest } from "./manifest.js";
import { discardRedo, dropOldest, push, readStack, type Stack, writeStack } from "./stack.js";

export interface History {
  stack(): Stack;
  manifest(snapId: string): Manifest;
  /** Adds a finished turn; null when it changed nothing. */
  add(turn: number, result: TurnResult, now: number): Manifest | null;
  discardRedo(): void;
  /** Another writer (a restore) replaced the stack on disk. */
  reload(): void;
  /** Removes snapshots and blobs that no step needs. */
  collect(): void;
}

export function createHistory(directory: string, blobs: Blobs, roots: Roots, limits: SnapshotLimits): History {
  const snaps = `${directory}/snaps`;
  const stackPath = `${directory}/stack.json`;
  const manifests = new Map<string, Manifest>();
  let stack: Stack | null = null;

  const current = (): Stack => {
    stack ??= readStack(stackPath);
    return stack;
  };

  function save(next: Stack): void {
    writeStack(stackPath, next);
    stack = next;
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

  return {
    stack: current,
    manifest,
    add(turn, result, now) {
      const { steps, dirs, skipped } = result;
      if (steps.size === 0 && dirs.size === 0 && skipped.size === 0) {
        // Nothing to lose: such a step goes to disk with the next one that has something.
        stack = push(current(), { turn, snap: null });
        return null;
      }
      const snap_id = `snap-${current().counter + 1}-${Math.trunc(now)}`;
      const made = buildManifest({ snap_id, turn, timestamp: now / 1000 }, steps, dirs, skipped);
      writeManifest(snaps, made);
      manifests.set(snap_id, made);
      save(push(current(), { turn, snap: snap_id }));
      shrink();
      return made;
    },
    discardRedo() {
      const { redo } = current();
      if (redo.length === 0) return;
      save(discardRedo(current()));
      for (const { snap } of redo) if (snap !== null) removeManifest(snaps, snap);
      collect();
    },
    reload() {
      stack = null;
    },
    collect,
  };
}

// --- internal ---

function snapIds(stack: Stack): string[] {
  return [...stack.undo, ...stack.redo].flatMap(({ snap }) => (snap === null ? [] : [snap]));
}
