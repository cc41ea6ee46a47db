/**
 * `restore.json`: a restore in progress. While its phase is "stage" nothing in the workspace has changed but for a directory
 * of prepared files; once it says "commit" the restore will be finished, by this process or by the next.
 */
import { rmSync } from "node:fs";
import { readTextIfAny, replaceDurably, syncDirectory } from "../content/atomic-file.js";
import { sha256 } from "../content/blobs.js";
import { stringifying } from "../content/stringify.js";
import { createPacer, paced } from "../pacer.js";
import { checkStack, type Stack } from "../turn/stack.js";
import type { Plan } from "./plan.js";

export interface Journal {
  readonly phase: "stage" | "commit";
  readonly roots: readonly string[];
  /** The name of the directory of prepared files, the same in every root. */
  readonly stage: string;
  readonly plan: Plan;
  /** The stack before the restore and once it is done. */
  readonly stacks: { readonly before: Stack; readonly after: Stack };
}

const NAME = "restore.json";

export async function writeJournal(directory: string, journal: Journal): Promise<void> {
  const text = await paced(stringifying({ v: 1, ...journal }), createPacer());
  await replaceDurably(`${directory}/${NAME}`, [`${text}\n`, `${sha256(Buffer.from(text))}\n`]);
}

/**
 * Null when no restore was interrupted, or its journal is damaged: the stack is then still the one before, and the same undo
 * again does the rest.
 */
export function readJournal(directory: string): Journal | null {
  const [text = "", hash] = (readTextIfAny(`${directory}/${NAME}`) ?? "").split("\n");
  if (hash !== sha256(Buffer.from(text))) return null;
  try {
    const value = JSON.parse(text) as Journal & { v: number };
    if (value.v !== 1 || !Array.isArray(value.plan.files) || !Array.isArray(value.plan.dirs)) return null;
    const { before, after } = value.stacks;
    return { ...value, stacks: { before: checkStack(before), after: checkStack(after) } };
  } catch {
    return null;
  }
}

export async function removeJournal(directory: string): Promise<void> {
  rmSync(`${directory}/${NAME}`, { force: true });
  await syncDirectory(directory);
}
