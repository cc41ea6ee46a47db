/** `sessions gc`: removes what nobody can miss: sessions never prompted, and what is kept for sessions that are gone. */
import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isSessionId, isStoreError } from "@chimera/event-store";
import type { Invocation, Paths } from "@chimera/host";
import { createSnapshotStore } from "@chimera/snapshot-store";
import { createProgress, type Progress, printReport } from "../output.js";
import { openStore, type SessionStore } from "../store.js";

/** What the store calls a session's directory while it is made or removed. */
const LEFTOVER = /^\.(new|deleted)-.+-[0-9a-f]{8}$/;
/** Younger sessions may still be in use. */
const YOUNG_MS = 24 * 3600_000;

export async function collectGarbage(invocation: Invocation): Promise<number> {
  const { store, paths } = await openStore(invocation);
  const progress = createProgress(invocation.process.stderr, "sessions checked:");
  const now = Date.now();
  const empty = await removeEmpty(store, now, progress);
  const leftovers = (await removeLeftovers(store, paths, now)) + (await store.sweep());
  const snapshots = createSnapshotStore({ root: paths.snapshots });
  const orphans = await orphansIn(store, paths.snapshots, now);
  for (const id of orphans) await snapshots.clear(id);
  const left = await orphansIn(store, paths.snapshots, now);
  // A server may have these open, and somebody may be about to undo.
  const { sessions } = await store.list();
  const recent = sessions.filter(({ touched }) => now - touched < YOUNG_MS).map(({ id }) => id);
  const report = await snapshots.gc({ keep: recent });
  await store.close();
  progress.end();
  const result = {
    sessions_removed: empty,
    leftovers_removed: leftovers + orphans.length - left.length,
    snapshot_blobs_removed: report.blobsRemoved,
    bytes_freed: report.bytesFreed,
  };
  const removed = `${empty} empty sessions, ${result.leftovers_removed} leftovers and ${report.blobsRemoved} snapshot blobs`;
  return printReport(invocation, result, [`${removed} removed, ${report.bytesFreed} bytes freed`]);
}

// --- internal ---

async function removeEmpty(store: SessionStore, now: number, progress: Progress): Promise<number> {
  const { sessions } = await store.list();
  let removed = 0;
  for (const [at, { id, summary, touched }] of sessions.entries()) {
    progress.update(at + 1, sessions.length);
    if (summary.turns > 0 || summary.title !== null || now - touched < YOUNG_MS) continue;
    try {
      if (!(await saysNothing(store, id))) continue;
      await store.delete(id);
      removed++;
    } catch (error) {
      // Somebody has it open: not ours to remove.
      if (!isStoreError(error) || error.code !== "claimed") throw error;
    }
  }
  return removed;
}

/** What a session that was never prompted may hold: how it was set up, and what it was told on the way. */
const SETTINGS: ReadonlySet<string> = new Set([
  "model_changed",
  "mode_changed",
  "config_changed",
  "approval_changed",
  "settings_reset",
  "commands_changed",
  "notice",
]);

/** True for a log without a word of anybody, all of which can be read. */
async function saysNothing(store: SessionStore, id: string): Promise<boolean> {
  // Lost records are of none of these types.
  for await (const { type } of store.read(id)) if (!SETTINGS.has(type)) return false;
  return true;
}

/** Directories whose making or removal a crash interrupted, and long outputs of sessions that are gone. */
async function removeLeftovers(store: SessionStore, paths: Paths, now: number): Promise<number> {
  const doomed = await oldNames(paths.eventlog, now, async (name) => LEFTOVER.test(name));
  const outputs: string[] = [];
  for (const id of await orphansIn(store, paths.outputs, now)) {
    const names = await readdir(join(paths.outputs, id));
    if (isSessionId(id) && names.every((name) => name.endsWith(".txt"))) outputs.push(id);
  }
  const all = [...doomed.map((name) => join(paths.eventlog, name)), ...outputs.map((id) => join(paths.outputs, id))];
  for (const path of all) await rm(path, { recursive: true, force: true });
  return all.length;
}

/** What is kept under the id of a session without a log. */
function orphansIn(store: SessionStore, directory: string, now: number): Promise<string[]> {
  return oldNames(directory, now, async (id) => !(await store.has(id)));
}

/** Young ones are left alone: a session that is not saved has no log, and its process may still be running. */
async function oldNames(directory: string, now: number, wanted: (name: string) => Promise<boolean>): Promise<string[]> {
  const found: string[] = [];
  for (const name of await readdir(directory).catch(() => [])) {
    // Links and files are somebody else's, like a name that no session can have.
    const age = await lstat(join(directory, name)).then(
      (stats) => (stats.isDirectory() ? now - stats.mtimeMs : 0),
      () => 0,
    );
    if (age >= YOUNG_MS && (await wanted(name).catch(() => false))) found.push(name);
  }
  return found;
}
