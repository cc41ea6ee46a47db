// The frozen home of version 0.1 and the one place where it works: its logs, manifests and journals name files by absolute paths,
// and each record's id is a checksum of its line, so the home cannot be moved without rewriting it.
import {
  chmodSync,
  cpSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { AtEnd } from "../program.js";
import { repositoryRoot } from "../scratch.js";

export const PLACE = "/tmp/chimera-home-0.1";
export const HOME = `${PLACE}/home`;
export const WORK = `${PLACE}/work`;
export const FIXTURE = join(repositoryRoot, "test", "fixtures", "home-0.1");

/** The parts of the fixture that are laid out at the place; the others are what tests expect. */
export const PARTS = ["home", "work", "scripts"];

/** Logs of a file per event take some times from the files. */
const FROZEN_AT = new Date("2026-11-17T08:00:00Z");

/** Another run of the same tests, in another checkout, may be at the place: the address of a socket tells them apart. */
const TURN = "\0chimera-home-0.1";
const PATIENCE_MS = 120_000;

/** Waits for the place, empties it, and gives it back at the end. */
export async function takePlace(atEnd: AtEnd): Promise<void> {
  const turn = createServer();
  for (const until = Date.now() + PATIENCE_MS; ; await pause(200)) {
    const taken = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
      turn.once("error", resolve).listen(TURN, () => resolve(null));
    });
    if (taken === null) break;
    if (taken.code !== "EADDRINUSE" || Date.now() > until) throw taken;
  }
  atEnd(() => new Promise<void>((resolve) => turn.close(() => resolve())));
  const left = lstatSync(PLACE, { throwIfNoEntry: false });
  if (left && (!left.isDirectory() || left.uid !== process.getuid?.()))
    throw new Error(`${PLACE} belongs to somebody else: the frozen home works at this place only; remove it`);
  rmSync(PLACE, { recursive: true, force: true });
  mkdirSync(PLACE, { mode: 0o700 });
  atEnd(() => rmSync(PLACE, { recursive: true, force: true }));
}

/** The home as version 0.1 left it, its modes and times too, which git does not keep. */
function layOut(): void {
  for (const part of PARTS) {
    rmSync(join(PLACE, part), { recursive: true, force: true });
    cpSync(join(FIXTURE, part), join(PLACE, part), { recursive: true, verbatimSymlinks: true });
  }
  for (const [path, stat] of everythingBelow(PLACE)) {
    const isPrivate = path.startsWith(HOME);
    const isOpen = stat.isDirectory() || (stat.mode & 0o100) !== 0;
    if (!stat.isSymbolicLink()) chmodSync(path, (isOpen ? 0o755 : 0o644) & (isPrivate ? 0o700 : 0o777));
    if (/claim\.\d+$/.test(path)) moveToThisMachine(path);
    lutimesSync(path, FROZEN_AT, FROZEN_AT);
  }
}

/** Runs work on a copy of a home, and ends every program that was started for it. */
export async function onFreshHome<T>(work: (atEnd: AtEnd) => Promise<T>): Promise<T> {
  layOut();
  const cleanups: (() => void | Promise<void>)[] = [];
  try {
    return await work((cleanup) => void cleanups.push(cleanup));
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup();
  }
}

/** Every file, directory and link below a directory, the deepest first. */
export function* everythingBelow(directory: string): Generator<[string, Stats]> {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    const stat = lstatSync(path);
    if (stat.isDirectory()) yield* everythingBelow(path);
    yield [path, stat];
  }
}

/** The files of a workspace: what is in them, where a link leads, `*` after the name of one that can be run. */
export function treeOf(root: string): Record<string, string> {
  const rows = [...everythingBelow(root)].flatMap(([path, stat]): [string, string][] => {
    const shown = path.slice(root.length + 1);
    if (stat.isDirectory()) return [];
    if (stat.isSymbolicLink()) return [[`${shown}@`, readlinkSync(path)]];
    return [[stat.mode & 0o100 ? `${shown}*` : shown, readFileSync(path, "utf8")]];
  });
  return Object.fromEntries(rows.sort(([a], [b]) => (a < b ? -1 : 1)));
}

// --- internal ---

/**
 * A process that was killed still holds its claims. On its own machine a process of an earlier boot is known to be dead; on
 * another one each of its claims would be waited for, 30 s.
 */
function moveToThisMachine(claim: string): void {
  const holder = JSON.parse(readFileSync(claim, "utf8"));
  if (!holder.released) writeFileSync(claim, JSON.stringify({ ...holder, host: hostname() }));
}
