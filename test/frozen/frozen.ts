// The known facts of the frozen home: its sessions by name, and what version 0.1 showed of them and did in them.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Lists } from "./lists.js";
import { FIXTURE } from "./place.js";
import type { Rewind } from "./rewind.js";
import type { ProgramName } from "./shown.js";

export interface Facts {
  /** Ids by the name of what each session shows. */
  readonly sessions: Record<string, string>;
  readonly lists: Record<ProgramName, Lists>;
  readonly rewinds: Record<string, readonly Rewind[]>;
  readonly crashes: Record<string, Crash>;
}

/** The files before the turn that a crash cut short, or whose undo it did, and after it. */
export interface Crash {
  readonly before: Record<string, string>;
  readonly after: Record<string, string>;
}

/** Sessions that end in the middle of a turn: a program that opens one ends the turn, in records of its own time. */
export const UNFINISHED = new Set(["first-turn", "second-turn", "unanswered", "torn-tail"]);

/** Sessions of which records are lost. */
export const DAMAGED = new Set(["bad-records", "lost-segment"]);

export const programOf = (id: string) => id.split("-")[0] as ProgramName;

const FACTS = join(FIXTURE, "facts.json");
export const readFacts = (): Facts => JSON.parse(readFileSync(FACTS, "utf8"));
export const writeFacts = (facts: Facts) => writeFileSync(FACTS, `${JSON.stringify(facts, null, 1)}\n`);

const golden = (name: string, kind: "stream" | "loaded" | "resumed") => join(FIXTURE, "golden", `${name}.${kind}`);
export const readGolden = (...of: Parameters<typeof golden>) => readFileSync(golden(...of), "utf8");
export function writeGolden(text: string, ...of: Parameters<typeof golden>): void {
  mkdirSync(dirname(golden(...of)), { recursive: true });
  writeFileSync(golden(...of), text);
}
