/**
 * `restore.json`: a restore that is not settled yet. The file stays until the session's log holds the record of the undo or redo.
 * After a crash the log decides: with the record the restore stands, without it the restore is taken back.
 */
import { rmSync } from "node:fs";
import { readTextIfAny, replaceDurably, syncDirectory } from "../content/atomic-file.js";
import { sha256 } from "../content/blobs.js";
import { stringifying } from "../content/pieces.js";
import { createPacer, paced } from "../pacer.js";
import type { Direction } from "../types.js";
import { reversed } from "./apply.js";
import type { Plan } from "./plan.js";

export interface Journal {
  /**
   * "stage": only a directory of prepared files was added to the workspace. "commit": the plan is being carried out, or has
   * been. "back": the plan takes a restore back, and is carried out to its end whatever the log says.
   */
  readonly phase: "stage" | "commit" | "back";
  readonly direction: Direction;
  /** The last number of the log when the restore began: its record has a higher one. */
  readonly after: number;
  readonly roots: readonly string[];
  /** The name of the directory of prepared files, the same in every root. */
  readonly stage: string;
  readonly plan: Plan;
}

const NAME = "restore.json";

export async function writeJournal(directory: string, journal: Journal): Promise<void> {
  const text = await paced(stringifying({ v: 2, ...journal }), createPacer());
  await replaceDurably(`${directory}/${NAME}`, [`${text}\n`, `${sha256(Buffer.from(text))}\n`]);
}

/** The journal; null when there is none, or when it is damaged: repeating the undo then finishes it. */
export function readJournal(directory: string): Journal | null {
  const [text = "", hash] = (readTextIfAny(`${directory}/${NAME}`) ?? "").split("\n");
  if (hash !== sha256(Buffer.from(text))) return null;
  try {
    const value = JSON.parse(text) as Journal & { v: number };
    if (![value.plan.files, value.plan.dirs, value.roots].every(Array.isArray)) return null;
    if (value.v === 1) return { ...value, direction: "undo", after: 0, ...takenBack(value) };
    return value.v === 2 ? value : null;
  } catch {
    return null;
  }
}

export async function removeJournal(directory: string): Promise<void> {
  rmSync(`${directory}/${NAME}`, { force: true });
  await syncDirectory(directory);
}

// --- internal ---

/** Turns a journal of version 1 into one that takes the restore back: version 1 removed its journal before it wrote the record. */
function takenBack({ phase, plan }: Journal): Pick<Journal, "phase" | "plan"> {
  return phase === "commit" ? { phase: "back", plan: reversed(plan) } : { phase, plan };
}
