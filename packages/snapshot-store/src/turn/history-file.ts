/**
 * `history.ndjson`: the stack, then a row for everything that happened since: what the turn in progress found, and each turn
 * that ended. A row costs one write and waits for no disk, whereas to replace a file makes ext4 write it out at once. The whole
 * is replaced when undo rearranges the stack, or when it has grown long.
 */
import { closeSync, constants, fstatSync, openSync, writeFileSync } from "node:fs";
import { readTextIfAny, replaceDurably, replaceFile } from "../content/atomic-file.js";
import { isSha256 } from "../content/blobs.js";
import { ABSENT, type StoredState } from "../content/file-state.js";
import { errnoOf, SnapshotError } from "../errors.js";
import { isModeOrNull, isPlainPath } from "./manifest.js";
import { checkStack, EMPTY_STACK, isStep, push, type Stack, type Step } from "./stack.js";

export interface Row {
  /** A turn began. */
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
  readonly ended?: Step;
}

export interface HistoryContent {
  readonly stack: Stack;
  /** Rows of a turn that did not end; none when there is no such turn. */
  readonly open: readonly Row[];
}

export function readHistory(directory: string): HistoryContent {
  const text = readTextIfAny(pathIn(directory));
  if (text === null) return { stack: EMPTY_STACK, open: [] };
  const [head, ...lines] = text.split("\n");
  let stack = parseHead(head!);
  let open: Row[] = [];
  for (const row of lines.flatMap(parseRow)) {
    if (row.ended !== undefined) {
      stack = push(stack, row.ended);
      open = [];
    } else if (row.turn !== undefined) open = [row];
    else if (open.length > 0) open.push(row);
  }
  return { stack, open };
}

/** Adds rows and returns the size of the file; null when there is none. */
export function appendToHistory(directory: string, rows: readonly Row[]): number | null {
  let fd: number;
  try {
    fd = openSync(pathIn(directory), constants.O_WRONLY | constants.O_APPEND);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return null;
    throw error;
  }
  try {
    writeFileSync(fd, encode(rows));
    return fstatSync(fd).size;
  } finally {
    closeSync(fd);
  }
}

export function replaceHistory(directory: string, stack: Stack, rows: readonly Row[] = []): void {
  replaceFile(pathIn(directory), headOf(stack) + encode(rows));
}

/** The same; it is on the disk when this resolves. */
export async function replaceHistoryDurably(directory: string, stack: Stack): Promise<void> {
  await replaceDurably(pathIn(directory), [headOf(stack) + encode([])]);
}

// --- internal ---

const VERSION = 1;

const pathIn = (directory: string): string => `${directory}/history.ndjson`;

function headOf(stack: Stack): string {
  return JSON.stringify({ v: VERSION, ...stack });
}

/** The line break comes first: half a row, which a full disk may leave, spoils no other. */
function encode(rows: readonly Row[]): string {
  return rows.map((row) => `\n${JSON.stringify(row)}`).join("");
}

function parseHead(text: string): Stack {
  // A power cut right after the file was replaced leaves nothing of it: the undo of earlier turns is lost, not the session.
  if (/^\0*$/.test(text)) return EMPTY_STACK;
  let value: { v?: unknown } | null;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new SnapshotError("bad_manifest", "the undo stack is not JSON", { cause });
  }
  if (typeof value?.v === "number" && value.v > VERSION) {
    throw new SnapshotError(
      "unsupported_format",
      `the undo stack has format ${value.v}, this version reads ${VERSION}`,
    );
  }
  return checkStack(value);
}

/** Nothing for what is not a whole row: half of one, one of a later version, or one that somebody made up. */
function parseRow(text: string): Row[] {
  try {
    const row: unknown = JSON.parse(text);
    return typeof row === "object" && row !== null && isWhole(row) ? [row] : [];
  } catch {
    return [];
  }
}

type Loose = Readonly<Record<string, unknown>>;

/** By the key that says what a row is: whether the rest of it is there. */
const WHOLE: Readonly<Record<string, (row: Loose) => boolean>> = {
  turn: ({ turn }) => Number.isSafeInteger(turn),
  ended: ({ ended }) => isStep(ended),
  path: ({ path, state }) => isPlainPath(path) && isStored(state),
  dir: ({ dir, mode }) => isPlainPath(dir) && isModeOrNull(mode),
  skipped: ({ skipped, reason }) => typeof skipped === "string" && typeof reason === "string",
  run: ({ run, at }) => typeof run === "string" && (at === null || Number.isFinite(at)),
};

function isWhole(row: object): row is Row {
  const [kind, ...more] = Object.keys(WHOLE).filter((key) => Object.hasOwn(row, key));
  return kind !== undefined && more.length === 0 && WHOLE[kind]!(row as Loose);
}

function isStored(value: unknown): value is StoredState {
  const { kind, sha, mode, target } = (value ?? {}) as Loose;
  if (kind === ABSENT.kind) return true;
  if ((kind !== "file" && kind !== "link") || !isSha256(sha) || mode === null || !isModeOrNull(mode)) return false;
  return kind === "file" || typeof target === "string";
}
