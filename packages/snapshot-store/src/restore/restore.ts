/** Undo and redo of files in one step: a plan is carried out whole or taken back whole, even when the process dies meanwhile. */
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import type { FileState } from "../content/file-state.js";
import { SnapshotError, toSnapshotError } from "../errors.js";
import { createPacer, paced } from "../pacer.js";
import type { Manifest } from "../turn/manifest.js";
import type { Direction, FileOutcome, RecoveryReport, RestoreLog } from "../types.js";
import { isStageName, STAGE_PREFIX } from "../workspace/drafts.js";
import { fsPath, textOfBytes } from "../workspace/path-bytes.js";
import type { Roots } from "../workspace/roots.js";
import { carryOut, type LateConflicts, prepare, reversed } from "./apply.js";
import { type Journal, readJournal, removeJournal, writeJournal } from "./journal.js";
import { type Plan, planningRestore } from "./plan.js";
import { removeStage } from "./stage.js";
import { lookAt, lookingAt, type Workplace } from "./workplace.js";

/** Makes a plan. It first reads the disk and the store in many small steps, so that the planning itself is short. */
export async function makePlan(
  manifests: readonly Manifest[],
  direction: Direction,
  force: boolean,
  place: Workplace,
): Promise<Plan> {
  const states = new Map<string, FileState>();
  const blobs = new Map<string, boolean>();
  const pacer = createPacer();
  for (const { files, before, dirs } of manifests) {
    for (const path of [...Object.keys(files), ...Object.keys(dirs)]) {
      if (!states.has(path)) states.set(path, (await paced(lookingAt(path, place), pacer)).state);
      await pacer.pause();
    }
    for (const sha of Object.values(direction === "undo" ? before : files)) {
      if (sha !== null && !blobs.has(sha)) blobs.set(sha, (await paced(place.blobs.reading(sha), pacer)) !== null);
      await pacer.pause();
    }
  }
  const around = {
    look: remembering(states, (path) => lookAt(path, place).state),
    hasBlob: remembering(blobs, (sha) => place.blobs.read(sha) !== null),
    below: (directory: string) => [...entriesBelow(directory)],
    isRoot: (path: string) => place.roots.paths.includes(path),
  };
  return paced(planningRestore(manifests, direction, force, around), pacer);
}

/** Carries out a plan and takes it back if it fails. The journal stays until `keepRestore` or `takeBackRestore`. */
export async function restore(
  directory: string,
  plan: Plan,
  head: Pick<Journal, "direction" | "after">,
  place: Workplace,
): Promise<readonly FileOutcome[]> {
  const stage = `${STAGE_PREFIX}${randomBytes(6).toString("hex")}`;
  const journal: Journal = { phase: "stage", ...head, roots: place.roots.paths, stage, plan };
  try {
    await writeJournal(directory, journal);
    const late = await perform(directory, { ...journal, phase: "commit" }, place);
    return plan.outcomes.map((each) => {
      const reason = late.get(each.path);
      return reason === undefined ? each : { path: each.path, outcome: "conflict", reason };
    });
  } catch (error) {
    await takeBackRestore(directory, place, error);
    throw toSnapshotError(error, "nothing was restored");
  }
}

/** Keeps or takes back an earlier restore whose journal still exists, as the log says; null when there is none. */
export async function settleRestore(
  directory: string,
  place: Workplace,
  log: Pick<RestoreLog, "recorded">,
): Promise<RecoveryReport["result"] | null> {
  const journal = readJournal(directory);
  if (journal === null) return null;
  assertInside(journal, place.roots);
  if (journal.phase === "commit" && (await log.recorded(journal.direction, journal.after))) {
    removeStage(journal.stage, place.roots);
    await keepRestore(directory);
    return "kept";
  }
  await takeBackRestore(directory, place);
  return "taken_back";
}

/** Removes the journal, once the record is durable. */
export const keepRestore = removeJournal;

/** Takes a restore back. If that fails, the journal stays for the next attempt. @param reason why it is taken back. */
export async function takeBackRestore(directory: string, place: Workplace, reason?: unknown): Promise<void> {
  try {
    const journal = readJournal(directory);
    if (journal === null) return;
    removeStage(journal.stage, place.roots);
    if (journal.phase === "commit") {
      await perform(directory, { ...journal, phase: "back", plan: reversed(journal.plan) }, place);
    } else if (journal.phase === "back") await perform(directory, journal, place);
    await removeJournal(directory);
  } catch (error) {
    const causes = reason === undefined ? [error] : [reason, error];
    const why = causes.map((each) => toSnapshotError(each, "restoring").message).join("; taking it back: ");
    throw toSnapshotError(new AggregateError(causes, why), "the restore is unfinished and will be tried again");
  }
}

// --- internal ---

function remembering<T>(known: Map<string, T>, ask: (key: string) => T): (key: string) => T {
  return (key) => {
    if (!known.has(key)) known.set(key, ask(key));
    return known.get(key)!;
  };
}

/** Carries out the plan of a journal. Doing it again after a crash gives the same result. */
async function perform(directory: string, journal: Journal, place: Workplace): Promise<LateConflicts> {
  const stage = await prepare(journal.plan, journal.stage, place);
  try {
    await writeJournal(directory, journal);
    const late = await carryOut(journal.plan, stage, place);
    removeStage(journal.stage, place.roots);
    return late;
  } finally {
    stage.close();
  }
}

/** Refuses a journal that leads outside the workspace, because any program may have written the file. */
function assertInside(journal: Journal, roots: Roots): void {
  for (const { path } of [...journal.plan.files, ...journal.plan.dirs]) {
    if (typeof path !== "string" || roots.locate(path) === null) {
      throw new SnapshotError("bad_manifest", `${JSON.stringify(path)} is outside the workspace`);
    }
  }
  if (!isStageName(journal.stage)) throw new SnapshotError("bad_manifest", "the journal is damaged");
}

function* entriesBelow(directory: string): Generator<string> {
  for (const entry of readdirSync(fsPath(directory), { withFileTypes: true, encoding: "buffer" })) {
    const path = `${directory}/${textOfBytes(entry.name)}`;
    yield path;
    if (entry.isDirectory()) yield* entriesBelow(path);
  }
}
