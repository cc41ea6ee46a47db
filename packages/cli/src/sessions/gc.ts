/** `sessions gc`: removes empty sessions and leftovers, and on demand sessions beyond a limit of age, number or size. */
import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isSessionId, isStoreError } from "@chimera/event-store";
import { type Invocation, isOnlyStore, type Paths, requireWritable, UsageError } from "@chimera/host";
import { parseSince } from "@chimera/run-reports";
import { recoverRestores } from "@chimera/session";
import { createSnapshotStore } from "@chimera/snapshot-store";
import { isSet, textFlag } from "../flags.js";
import { createProgress, type Progress, printReport } from "../output.js";
import { type OpenStore, type SessionStore, withStore } from "../store.js";
import { localTime, plainLine } from "../terminal/text.js";
import { askedSessions } from "./list.js";

/** Younger sessions may still be in use. */
const YOUNG_MS = 24 * 3600_000;

export async function collectGarbage(invocation: Invocation): Promise<number> {
  const limits = readLimits(invocation);
  return withStore(invocation, (opened) => collect(invocation, opened, limits));
}

// --- internal ---

async function collect(invocation: Invocation, opened: OpenStore, limits: Limits): Promise<number> {
  const { store, paths } = opened;
  const dryRun = isSet(invocation.flags, "dry-run");
  const progress = createProgress(invocation.process.stderr, "sessions checked");
  const now = Date.now();
  if (!dryRun) requireWritable(paths.root);
  try {
    const doomed = [...(await emptySessions(store, now, progress)), ...(await pastLimits(invocation, opened, limits))];
    const snapshots = createSnapshotStore({ root: paths.snapshots, exclude: [paths.root] });
    // While the logs are there that say whether an undo stands. One that cannot be settled stays, and the next server says so.
    if (!dryRun) await recoverRestores(store, snapshots, () => {}, { isOnlyStore: isOnlyStore(paths) });
    const removed: Doomed[] = [];
    for (const [at, one] of doomed.entries()) {
      progress.update(at + 1, doomed.length);
      if (!dryRun && !(await removeUnclaimed(store, one.id))) continue;
      removed.push(one);
      // Leaves a directory with any other files alone.
      if (!dryRun && (await hasOutputs(paths.outputs, one.id)))
        await rm(join(paths.outputs, one.id), { recursive: true, force: true });
    }
    const leftovers = await leftOutputs(store, paths, now);
    const orphans = await orphansIn(store, paths, "snapshots", now);
    const found = leftovers.length + orphans.length + (await store.sweep({ dryRun }));
    if (dryRun) return reportRemoval(invocation, { removed, leftovers: found, dryRun });
    for (const path of leftovers) await rm(path, { recursive: true, force: true });
    for (const id of new Set([...orphans, ...removed.map((one) => one.id)])) await snapshots.clear(id);
    const left = await orphansIn(store, paths, "snapshots", now);
    // Keep the blobs of recent sessions: a server may hold one, and a person may be about to undo.
    const { sessions } = await store.list();
    const recent = sessions.filter(({ touched }) => now - touched < YOUNG_MS).map(({ id }) => id);
    const report = await snapshots.gc({ keep: recent });
    return reportRemoval(invocation, {
      removed,
      leftovers: found - left.length,
      blobs: report.blobsRemoved,
      bytes: report.bytesFreed,
      dryRun,
    });
  } finally {
    progress.end();
  }
}

interface Doomed {
  readonly id: string;
  readonly why: "empty" | "age" | "count" | "bytes";
  readonly started: string | null;
  readonly prompt: string;
}

type Limits = ReturnType<typeof readLimits>;

function readLimits({ flags }: Invocation) {
  const [age, keep, most] = ["older-than", "keep", "max-bytes"].map((name) => textFlag(flags, name));
  if (keep !== undefined && !/^\d{1,9}$/.test(keep))
    throw new UsageError(`--keep takes a whole number, not ${JSON.stringify(keep)}`);
  const [, amount, unit = ""] = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(most ?? "") ?? [];
  if (most !== undefined && amount === undefined)
    throw new UsageError(`--max-bytes takes a size such as 500M or 2G, not ${JSON.stringify(most)}`);
  return {
    /** Epoch milliseconds. Sessions that were not touched since then are removed. */
    since: age === undefined ? null : parseSince(age, Date.now()),
    count: keep === undefined ? Number.POSITIVE_INFINITY : Number(keep),
    bytes:
      most === undefined
        ? Number.POSITIVE_INFINITY
        : Number(amount) * 1024 ** " kmgt".indexOf(unit.toLowerCase() || " "),
  };
}

/** The listed sessions beyond a limit. Those that were touched last are kept first. */
async function pastLimits(invocation: Invocation, storage: OpenStore, limits: Limits): Promise<Doomed[]> {
  const { since, count, bytes } = limits;
  if (since === null && !Number.isFinite(count) && !Number.isFinite(bytes)) return [];
  const { sessions } = await storage.store.list({ ...askedSessions(invocation), order: "touched" });
  const progress = createProgress(invocation.process.stderr, "sessions measured");
  const doomed: Doomed[] = [];
  let size = 0;
  for (const [at, { id, summary, touched }] of sessions.entries()) {
    progress.update(at + 1, sessions.length);
    const named = since !== null && touched < since ? "age" : at >= count ? "count" : null;
    if (named === null && Number.isFinite(bytes)) size += await storage.sizeOf(id);
    const why = named ?? (size > bytes ? "bytes" : null);
    if (why && summary.state === "idle") doomed.push({ id, why, started: summary.started_at, prompt: summary.prompt });
  }
  progress.end();
  return doomed;
}

/** Returns false when another process holds the session. */
async function removeUnclaimed(store: SessionStore, id: string): Promise<boolean> {
  try {
    await store.delete(id);
    return true;
  } catch (error) {
    if (!isStoreError(error) || error.code !== "claimed") throw error;
    return false;
  }
}

/** Why a session goes, by the flag that says so. */
const LIMITS: Readonly<Record<Doomed["why"], string>> = {
  empty: "empty",
  age: "--older-than",
  count: "--keep",
  bytes: "--max-bytes",
};

function reportRemoval(
  invocation: Invocation,
  gone: { removed: readonly Doomed[]; leftovers: number; blobs?: number; bytes?: number; dryRun: boolean },
): number {
  const { removed, leftovers, blobs = 0, bytes = 0, dryRun } = gone;
  const empty = removed.filter(({ why }) => why === "empty").length;
  const past = removed.filter(({ why }) => why !== "empty");
  const rows = past.map(
    ({ id, why, started, prompt }) => `${id}  ${localTime(started)}  ${LIMITS[why].padEnd(12)}  ${plainLine(prompt)}`,
  );
  const sessions = `${past.length > 0 ? `${past.length} sessions past the limits, ` : ""}${empty} empty sessions`;
  const sum = dryRun
    ? `${sessions} and ${leftovers} leftovers would be removed; nothing is changed yet`
    : `${sessions}, ${leftovers} leftovers and ${blobs} snapshot blobs removed, ${bytes} bytes freed`;
  const report = {
    sessions_removed: removed.length,
    sessions: removed.map(({ id: session_id, why }) => ({ session_id, why })),
    leftovers_removed: leftovers,
    snapshot_blobs_removed: blobs,
    bytes_freed: bytes,
    dry_run: dryRun,
  };
  return printReport(invocation, report, [...rows, sum]);
}

async function emptySessions(store: SessionStore, now: number, progress: Progress): Promise<Doomed[]> {
  const { sessions } = await store.list();
  const empty: Doomed[] = [];
  for (const [at, { id, summary, touched }] of sessions.entries()) {
    progress.update(at + 1, sessions.length);
    if (summary.turns > 0 || summary.title !== null || now - touched < YOUNG_MS) continue;
    if (await saysNothing(store, id)) empty.push({ id, why: "empty", started: summary.started_at, prompt: "" });
  }
  return empty;
}

/** Record types in a session without prompts: its settings, notices, and its end. */
const SETTINGS: ReadonlySet<string> = new Set([
  "model_changed",
  "mode_changed",
  "config_changed",
  "approval_changed",
  "settings_reset",
  "commands_changed",
  "notice",
  "torn_down",
]);

/** True for a fully readable log that has only such records. */
async function saysNothing(store: SessionStore, id: string): Promise<boolean> {
  // An entry for lost records is not one of these types.
  for await (const { type } of store.read(id)) if (!SETTINGS.has(type)) return false;
  return true;
}

/** The directories with long outputs of deleted sessions. */
async function leftOutputs(store: SessionStore, paths: Paths, now: number): Promise<string[]> {
  const outputs: string[] = [];
  for (const id of await orphansIn(store, paths, "outputs", now)) {
    if (await hasOutputs(paths.outputs, id)) outputs.push(join(paths.outputs, id));
  }
  return outputs;
}

async function hasOutputs(directory: string, id: string): Promise<boolean> {
  const names = isSessionId(id) ? await readdir(join(directory, id)).catch(() => null) : null;
  return names?.every((name) => name.endsWith(".txt")) ?? false;
}

/**
 * Directories with the id of a session that has no log; none where the session may be in a store that is not asked here. Skips young ones:
 * an unsaved session has no log, and its process may still be running.
 */
async function orphansIn(store: SessionStore, paths: Paths, kind: "snapshots" | "outputs", now: number) {
  const found: string[] = [];
  for (const name of isOnlyStore(paths) ? await readdir(paths[kind]).catch(() => []) : []) {
    // Links and files, and names that no session can have, belong to another program.
    const stats = await lstat(join(paths[kind], name)).catch(() => null);
    const isOld = stats?.isDirectory() && now - stats.mtimeMs >= YOUNG_MS;
    if (isOld && !(await store.has(name).catch(() => true))) found.push(name);
  }
  return found;
}
