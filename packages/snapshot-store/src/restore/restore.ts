/** Undo and redo as one step: all of a plan is carried out or none of it, even when the process dies on the way. */
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import type { FileState } from "../content/file-state.js";
import { SnapshotError, toSnapshotError } from "../errors.js";
import { createPacer, paced } from "../pacer.js";
import { replaceHistory, replaceHistoryDurably } from "../turn/history-file.js";
import type { Manifest } from "../turn/manifest.js";
import type { Direction, Stack } from "../turn/stack.js";
import type { FileOutcome, RecoveryReport } from "../types.js";
import { fsPath, textOfBytes } from "../workspace/path-bytes.js";
import type { Roots } from "../workspace/roots.js";
import { carryOut, type LateConflicts, prepare, reversed } from "./apply.js";
import { type Journal, readJournal, removeJournal, writeJournal } from "./journal.js";
import { type Plan, planningRestore } from "./plan.js";
import { removeStage } from "./stage.js";
import { isStageName, STAGE_PREFIX } from "./stage-name.js";
import { lookAt, lookingAt, type Workplace } from "./workplace.js";

/** Looks at the disk and the store first, in many small steps; the plan itself is then quickly made. */
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

/** Carries a plan out and makes `after` the session's stack; returns what became of each file. */
export async function restore(
  directory: string,
  plan: Plan,
  stacks: { readonly before: Stack; readonly after: Stack },
  place: Workplace,
): Promise<readonly FileOutcome[]> {
  if (plan.files.length === 0 && plan.dirs.length === 0) {
    replaceHistory(directory, stacks.after);
    return plan.outcomes;
  }
  const stage = `${STAGE_PREFIX}${randomBytes(6).toString("hex")}`;
  const journal: Journal = { phase: "stage", roots: place.roots.paths, stage, plan, stacks };
  try {
    await writeJournal(directory, journal);
    return settle(plan.outcomes, await commit(directory, journal, place));
  } catch (error) {
    await takeBack(directory, place, error);
    throw toSnapshotError(error, "nothing was restored");
  }
}

/** Finishes or takes back what a crash interrupted; null when there is nothing to do. */
export async function recoverRestore(
  sessionId: string,
  directory: string,
  placeOf: (roots: readonly string[]) => Workplace,
): Promise<RecoveryReport | null> {
  const journal = readJournal(directory);
  if (journal === null) return null;
  try {
    const place = placeOf(journal.roots);
    assertInside(journal, place.roots);
    removeStage(journal.stage, place.roots);
    if (journal.phase === "stage") {
      await removeJournal(directory);
      return { sessionId, result: "taken_back", files: [] };
    }
    try {
      const late = await commit(directory, journal, place);
      return { sessionId, result: "finished", files: settle(journal.plan.outcomes, late) };
    } catch (error) {
      await takeBack(directory, place, error);
      const { message } = toSnapshotError(error, "an undo could not be finished");
      return { sessionId, result: "taken_back", files: [], message };
    }
  } catch (error) {
    return unsettled(sessionId, error);
  }
}

/** The report of a restore that stays as the crash left it, and why. */
export function unsettled(sessionId: string, error: unknown): RecoveryReport {
  return { sessionId, result: "failed", files: [], message: toSnapshotError(error, "an undo is unfinished").message };
}

// --- internal ---

function remembering<T>(known: Map<string, T>, ask: (key: string) => T): (key: string) => T {
  return (key) => {
    if (!known.has(key)) known.set(key, ask(key));
    return known.get(key)!;
  };
}

/** From the moment the journal says "commit" there is no way but forward. */
async function commit(directory: string, journal: Journal, place: Workplace): Promise<LateConflicts> {
  const stage = await prepare(journal.plan, journal.stage, place);
  try {
    await writeJournal(directory, { ...journal, phase: "commit" });
    const late = await carryOut(journal.plan, stage, place);
    await replaceHistoryDurably(directory, journal.stacks.after);
    removeStage(journal.stage, place.roots);
    await removeJournal(directory);
    return late;
  } finally {
    stage.close();
  }
}

/** After a failure: puts back what was already replaced. If that fails too, the journal stays for the next attempt. */
async function takeBack(directory: string, place: Workplace, reason: unknown): Promise<void> {
  try {
    const journal = readJournal(directory);
    if (journal === null) return;
    removeStage(journal.stage, place.roots);
    if (journal.phase === "stage") {
      await removeJournal(directory);
      return;
    }
    const { before, after } = journal.stacks;
    const back: Journal = { ...journal, plan: reversed(journal.plan), stacks: { before: after, after: before } };
    await commit(directory, back, place);
  } catch (error) {
    const why = [reason, error].map((each) => toSnapshotError(each, "restoring").message).join("; taking it back: ");
    throw toSnapshotError(
      new AggregateError([reason, error], why),
      "the restore is unfinished and will be tried again",
    );
  }
}

function settle(outcomes: readonly FileOutcome[], late: LateConflicts): readonly FileOutcome[] {
  return outcomes.map((each) => {
    const reason = late.get(each.path);
    return reason === undefined ? each : { path: each.path, outcome: "conflict", reason };
  });
}

/** A journal is data on disk like a manifest: it gets no further than the workspace. */
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
