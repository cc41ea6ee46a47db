/**
 * `history.ndjson`: the manifest of each turn, then a row for each later event: what the running turn found, and each turn that
 * ended. A row costs one write without waiting for the disk, whereas replacing a file makes ext4 write it out at once. The whole
 * file is replaced when manifests were removed, or when it has grown long.
 */
import { closeSync, constants, fstatSync, openSync, writeFileSync } from "node:fs";
import { readTextIfAny, replaceFile } from "../content/atomic-file.js";
import { isSha256 } from "../content/blobs.js";
import { ABSENT, type StoredState } from "../content/file-state.js";
import { orElse, SnapshotError, unless } from "../errors.js";
import { isModeOrNull, isPlainPath, isSnapId } from "./manifest.js";

export interface EndedTurn {
  readonly turn: number;
  /** Null when the turn changed no file. */
  readonly snap: string | null;
}

export interface KeptTurn extends EndedTurn {
  readonly snap: string;
}

export interface HistoryRow {
  readonly turn?: number;
  readonly path?: string;
  readonly state?: StoredState;
  readonly dir?: string;
  readonly mode?: number | null;
  readonly skipped?: string;
  readonly reason?: string;
  /** A command in this root started, or ended when `at` is null. */
  readonly run?: string;
  readonly at?: number | null;
  readonly ended?: EndedTurn;
}

export interface HistoryContent {
  /** The number of manifests made so far, which is part of their ids. */
  readonly counter: number;
  /** Oldest first, also the turns that changed no file. */
  readonly kept: readonly EndedTurn[];
  /** The rows of a turn that did not end; empty when every turn ended. */
  readonly open: readonly HistoryRow[];
  /** True when the file has an older format or is damaged, so that it must be replaced before rows are added. */
  readonly outdated: boolean;
}

export const EMPTY_HISTORY: HistoryContent = { counter: 0, kept: [], open: [], outdated: false };

/** @param manifests the turns by their manifests, from which an unreadable first line is made again. */
export function readHistory(directory: string, manifests: () => readonly KeptTurn[]): HistoryContent {
  const text = readTextIfAny(pathIn(directory));
  if (text === null) return EMPTY_HISTORY;
  const [head, ...lines] = text.split("\n");
  const stated = parseHead(head!);
  let content = stated ?? EMPTY_HISTORY;
  let open: HistoryRow[] = [];
  for (const row of lines.flatMap(parseRow)) {
    if (row.ended !== undefined) {
      content = withEnded(content, row.ended);
      open = [];
    } else if (row.turn !== undefined) open = [row];
    else if (open.length > 0) open.push(row);
  }
  return stated === null ? rebuilt(manifests(), open) : { ...content, open };
}

export function withEnded(content: HistoryContent, { turn, snap }: EndedTurn): HistoryContent {
  const counter = content.counter + (snap === null ? 0 : 1);
  return { ...content, counter, kept: [...content.kept, { turn, snap }], open: [] };
}

/** Adds rows and returns the size of the file; null when there is none. */
export function appendToHistory(directory: string, rows: readonly HistoryRow[]): number | null {
  const fd = unless(["ENOENT"], () => openSync(pathIn(directory), constants.O_WRONLY | constants.O_APPEND));
  if (fd === null) return null;
  try {
    writeFileSync(fd, encode(rows));
    return fstatSync(fd).size;
  } finally {
    closeSync(fd);
  }
}

export function replaceHistory(directory: string, { counter, kept, open }: HistoryContent): void {
  replaceFile(pathIn(directory), JSON.stringify({ v: VERSION, counter, kept }) + encode(open));
}

// --- internal ---

/** Version 1 also had the turns to undo and to redo, which now come from the session's log. */
const VERSION = 2;

const pathIn = (directory: string): string => `${directory}/history.ndjson`;

/** Each row begins with a line break, so that half a row, which a full disk may leave, does not damage the next one. */
function encode(rows: readonly HistoryRow[]): string {
  return rows.map((row) => `\n${JSON.stringify(row)}`).join("");
}

/** The history made again from manifests. It leaves out the open turn's manifest, which is written again when the turn ends. */
function rebuilt(manifests: readonly KeptTurn[], open: readonly HistoryRow[]): HistoryContent {
  const counter = Math.max(0, ...manifests.map(({ snap }) => numberOf(snap)));
  const kept = manifests
    .filter(({ turn }) => turn !== open[0]?.turn)
    .sort((a, b) => a.turn - b.turn || numberOf(a.snap) - numberOf(b.snap));
  return { counter, kept, open, outdated: true };
}

/** The counter in the id of a snapshot. */
const numberOf = (snap: string): number => Number(snap.split("-")[1]);

/** The first line; null when it is damaged, or lost in a power cut right after the file was replaced. */
function parseHead(text: string): HistoryContent | null {
  const { v, counter, kept, undo, redo }: Loose = orElse(() => JSON.parse(text), null) ?? {};
  if (typeof v === "number" && v > VERSION) {
    throw new SnapshotError("unsupported_format", `the undo history has format ${v}, this version reads ${VERSION}`);
  }
  const outdated = v === 1;
  const turns = outdated ? [undo, redo] : [kept];
  if (!Number.isSafeInteger(counter) || !turns.every(isListOfTurns)) return null;
  return {
    counter: counter as number,
    kept: turns.flat().sort((a, b) => a.turn - b.turn),
    open: [],
    outdated,
  };
}

function isListOfTurns(value: unknown): value is EndedTurn[] {
  return Array.isArray(value) && value.every(isEnded);
}

function isEnded(value: unknown): value is EndedTurn {
  const { turn, snap } = (value ?? {}) as Loose;
  return Number.isSafeInteger(turn) && (snap === null || isSnapId(snap));
}

/** The row in a line; none for half a row, one of a later version, or an invalid one. */
function parseRow(text: string): HistoryRow[] {
  const row: unknown = orElse(() => JSON.parse(text), null);
  return typeof row === "object" && row !== null && isWhole(row) ? [row] : [];
}

type Loose = Readonly<Record<string, unknown>>;

/** By the key that names a row's kind, a check that the rest of the row is valid. */
const WHOLE: Readonly<Record<string, (row: Loose) => boolean>> = {
  turn: ({ turn }) => Number.isSafeInteger(turn),
  ended: ({ ended }) => isEnded(ended),
  path: ({ path, state }) => isPlainPath(path) && isStored(state),
  dir: ({ dir, mode }) => isPlainPath(dir) && isModeOrNull(mode),
  skipped: ({ skipped, reason }) => typeof skipped === "string" && typeof reason === "string",
  run: ({ run, at }) => typeof run === "string" && (at === null || Number.isFinite(at)),
};

function isWhole(row: object): row is HistoryRow {
  const [kind, ...more] = Object.keys(WHOLE).filter((key) => Object.hasOwn(row, key));
  return kind !== undefined && more.length === 0 && WHOLE[kind]!(row as Loose);
}

function isStored(value: unknown): value is StoredState {
  const { kind, sha, mode, target } = (value ?? {}) as Loose;
  if (kind === ABSENT.kind) return true;
  if ((kind !== "file" && kind !== "link") || !isSha256(sha) || mode === null || !isModeOrNull(mode)) return false;
  return kind === "file" || typeof target === "string";
}
