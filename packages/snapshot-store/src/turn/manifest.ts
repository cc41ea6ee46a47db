/** `snaps/<id>/manifest.json`: the state of each file before and after a turn. */
import { mkdirSync, writeFileSync } from "node:fs";
import { isAbsolute, normalize } from "node:path";
import { readTextIfAny } from "../content/atomic-file.js";
import { isSha256 } from "../content/blobs.js";
import { ABSENT, type StoredState } from "../content/file-state.js";
import { stringifying } from "../content/pieces.js";
import { SnapshotError } from "../errors.js";
import type { Steps } from "../pacer.js";
import type { FileChange, TurnSnapshot } from "../types.js";
import type { Roots } from "../workspace/roots.js";

export interface Manifest {
  readonly snap_id: string;
  readonly turn: number;
  /** Seconds since the epoch. */
  readonly timestamp: number;
  /** Hashes after the turn; null when the file did not exist. */
  readonly files: Readonly<Record<string, string | null>>;
  /** Hashes before the turn; null when the file did not exist. */
  readonly before: Readonly<Record<string, string | null>>;
  /** Modes and link targets after the turn, or before it when the file is gone; `before` only where they differ. */
  readonly meta: Readonly<Record<string, FileMeta & { readonly before?: FileMeta }>>;
  /** Directories that were created, removed or got another mode; null when one did not exist. */
  readonly dirs: Readonly<Record<string, DirectoryChange>>;
  /** Files that undo does not change, with the reasons. */
  readonly skipped: Readonly<Record<string, string>>;
}

export interface FileMeta {
  readonly mode: number;
  readonly link?: string;
}

export interface DirectoryChange {
  readonly before: number | null;
  readonly after: number | null;
}

export interface FileStep {
  readonly before: StoredState;
  readonly after: StoredState;
}

/** How many files to handle between two looks at the clock. */
const STRETCH = 500;
const SNAP_ID = /^snap-[0-9]{1,12}-[0-9]{1,16}$/;

export function isSnapId(value: unknown): value is string {
  return typeof value === "string" && SNAP_ID.test(value);
}

export function* buildingManifest(
  head: { readonly snap_id: string; readonly turn: number; readonly timestamp: number },
  steps: ReadonlyMap<string, FileStep>,
  dirs: ReadonlyMap<string, DirectoryChange>,
  skipped: ReadonlyMap<string, string>,
): Steps<Manifest> {
  const paths = [...steps.keys()].sort();
  yield;
  const entry = (path: string) => steps.get(path)!;
  return {
    ...head,
    files: yield* recording(paths, (path) => shaOf(entry(path).after)),
    before: yield* recording(paths, (path) => shaOf(entry(path).before)),
    meta: yield* recording(paths, (path) => metaOf(entry(path))),
    dirs: yield* recording([...dirs.keys()].sort(), (path) => dirs.get(path)!),
    skipped: yield* recording([...skipped.keys()].sort(), (path) => skipped.get(path)!),
  };
}

export const NOT_KEPT = "not_kept";

/** A manifest for a turn whose own was removed: undo takes back nothing of what the turn did to the files that it edited. */
export function droppedManifest(turn: number, edited: Iterable<string>): Manifest {
  const skipped = Object.fromEntries([...edited].map((path) => [path, NOT_KEPT]));
  return { snap_id: "", turn, timestamp: 0, files: {}, before: {}, meta: {}, dirs: {}, skipped };
}

export function stepOf(manifest: Manifest, path: string): FileStep {
  const meta = manifest.meta[path];
  const after = manifest.files[path] ?? null;
  return {
    before: stateOf(manifest.before[path] ?? null, after === null ? meta : (meta?.before ?? meta)),
    after: stateOf(after, meta),
  };
}

export function* writingManifest(directory: string, manifest: Manifest): Steps<void> {
  const path = `${directory}/${manifest.snap_id}`;
  const text = yield* stringifying(manifest, 2);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  writeFileSync(`${path}/manifest.json`, `${text}\n`, { mode: 0o600 });
}

/** Reads a manifest. Refuses an invalid one, because a restore could write outside the workspace. */
export function readManifest(directory: string, snapId: string, roots: Roots): Manifest {
  if (!isSnapId(snapId)) throw new SnapshotError("not_found", `no snapshot ${JSON.stringify(snapId)}`);
  const text = readTextIfAny(`${directory}/${snapId}/manifest.json`);
  if (text === null) throw new SnapshotError("not_found", `no snapshot ${snapId}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new SnapshotError("bad_manifest", `the manifest of ${snapId} is not JSON`, { cause });
  }
  const problem = problemOf(value, snapId, roots);
  if (problem !== null) throw new SnapshotError("bad_manifest", `the manifest of ${snapId} is refused: ${problem}`);
  return value as Manifest;
}

export function snapshotOf(manifest: Manifest): TurnSnapshot {
  return {
    snapId: manifest.snap_id,
    turn: manifest.turn,
    timestamp: manifest.timestamp,
    files: Object.keys(manifest.files).map((path) => changeOf(manifest, path)),
    skipped: manifest.skipped,
  };
}

export function changeOf(manifest: Manifest, path: string): FileChange {
  const change = manifest.before[path] === null ? "add" : manifest.files[path] === null ? "delete" : "update";
  return { path, change };
}

/** Every blob a manifest needs. */
export function shasOf(manifest: Manifest): string[] {
  return [...Object.values(manifest.files), ...Object.values(manifest.before)].filter((sha) => sha !== null);
}

/** True for a normalized absolute path, the only form that is stored. */
export function isPlainPath(path: unknown): path is string {
  return (
    typeof path === "string" &&
    isAbsolute(path) &&
    !path.includes("\0") &&
    normalize(path) === path &&
    !path.endsWith("/")
  );
}

export function isModeOrNull(value: unknown): value is number | null {
  return value === null || (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 0o7777);
}

// --- internal ---

/** Builds an object without a prototype, because a path may be called `__proto__`. */
function* recording<T>(paths: readonly string[], value: (path: string) => T): Steps<Record<string, T>> {
  const out: Record<string, T> = Object.create(null);
  for (const [index, path] of paths.entries()) {
    out[path] = value(path);
    if (index % STRETCH === 0) yield;
  }
  return out;
}

function shaOf(state: StoredState): string | null {
  return state.kind === "absent" ? null : state.sha;
}

function metaOf(step: FileStep): FileMeta & { readonly before?: FileMeta } {
  const before = fileMeta(step.before);
  const after = fileMeta(step.after);
  if (after === null) return before ?? { mode: 0 };
  const same = before === null || (before.mode === after.mode && before.link === after.link);
  return same ? after : { ...after, before };
}

function fileMeta(state: StoredState): FileMeta | null {
  if (state.kind === "absent") return null;
  return state.kind === "link" ? { mode: state.mode, link: state.target } : { mode: state.mode };
}

function stateOf(sha: string | null, meta: FileMeta | undefined): StoredState {
  if (sha === null) return ABSENT;
  const mode = meta?.mode ?? 0o644;
  return meta?.link === undefined ? { kind: "file", sha, mode } : { kind: "link", sha, mode, target: meta.link };
}

function problemOf(value: unknown, snapId: string, roots: Roots): string | null {
  if (!isRecord(value)) return "not an object";
  if (value["snap_id"] !== snapId) return "it names another snapshot";
  if (!Number.isSafeInteger(value["turn"]) || typeof value["timestamp"] !== "number") return "no turn or time";
  const { files, before, meta, dirs, skipped } = value;
  if (![files, before, meta, dirs, skipped].every(isRecord)) return "a map is missing";
  const maps = { files, before, meta, dirs, skipped } as Record<string, Record<string, unknown>>;
  const names = Object.keys(maps["files"]!);
  if (names.length !== Object.keys(maps["before"]!).length) return "files and before differ";
  for (const path of [...names, ...Object.keys(maps["dirs"]!)]) {
    if (!isPlainPath(path) || roots.locate(path) === null) return `${JSON.stringify(path)} is outside the workspace`;
  }
  for (const path of names) {
    if (!isShaOrNull(maps["files"]![path]) || !isShaOrNull(maps["before"]![path])) return `bad hash of ${path}`;
    if (!isMeta(maps["meta"]![path])) return `bad mode of ${path}`;
  }
  const badDirectory = Object.values(maps["dirs"]!).some(
    (change) => !isRecord(change) || !isModeOrNull(change["before"]) || !isModeOrNull(change["after"]),
  );
  if (badDirectory) return "bad mode of a directory";
  return Object.values(maps["skipped"]!).every((reason) => typeof reason === "string") ? null : "bad reason";
}

function isMeta(value: unknown): boolean {
  if (!isRecord(value) || !isModeOrNull(value["mode"]) || value["mode"] === null) return false;
  if (value["link"] !== undefined && typeof value["link"] !== "string") return false;
  return value["before"] === undefined || isMeta(value["before"]);
}

function isShaOrNull(value: unknown): boolean {
  return value === null || isSha256(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
