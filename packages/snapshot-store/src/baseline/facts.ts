/** The known facts of a root's files, stored for later processes. Each line is independent; a lost one costs reading the file again. */
import { appendFileSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { readTextIfAny, replacingFile } from "../content/atomic-file.js";
import { isSha256 } from "../content/blobs.js";
import { ABSENT, type FileState, hasContent } from "../content/file-state.js";
import { errnoOf, orElse } from "../errors.js";
import type { Steps } from "../pacer.js";

export interface Fact {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
  readonly binary: boolean;
  readonly state: FileState;
}

const VERSION = 2;
/** Rows between two looks at the clock. */
const STRETCH = 500;

export function createFacts(path: string) {
  let lines = 0;

  function* rewriting(all: Iterable<Fact>): Steps<void> {
    const { pieces, count } = yield* encoding(all);
    lines = count + 1;
    yield* replacingFile(path, [`${JSON.stringify({ v: VERSION })}\n`, ...pieces]);
  }

  return {
    *loading() {
      const facts = new Map<string, Fact>();
      const text = readTextIfAny(path) ?? "";
      const head = `${JSON.stringify({ v: VERSION })}\n`;
      if (!text.startsWith(head)) return facts;
      for (let start = head.length, end = 0; start < text.length; start = end + 1) {
        end = text.indexOf("\n", start);
        if (end < 0) end = text.length;
        const fact = decode(text.slice(start, end));
        if (fact === null) continue;
        lines += 1;
        if (fact.state.kind === "absent") facts.delete(fact.path);
        else facts.set(fact.path, fact);
        if (lines % STRETCH === 0) yield;
      }
      return facts;
    },
    /** Adds changed facts to the file; rewrites the file from `all` once most of its lines are outdated. */
    *saving(changed: readonly Fact[], all: () => Iterable<Fact>, total: number) {
      if (changed.length === 0) return;
      if (lines === 0 || lines + changed.length > 2 * total + 1000) {
        yield* rewriting(all());
        return;
      }
      const { pieces, count } = yield* encoding(changed);
      try {
        for (const piece of pieces) {
          appendFileSync(path, piece, { mode: 0o600, flag: "a" });
          yield;
        }
        lines += count;
      } catch (error) {
        if (errnoOf(error) !== "ENOENT") throw error;
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        yield* rewriting(all());
      }
    },
    /** Whether any process saved facts after this time. */
    savedAfter: (ms: number) => (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > ms,
  };
}

export function goneFact(path: string): Fact {
  return { path, size: 0, mtimeMs: 0, ctimeMs: 0, ino: 0, binary: false, state: ABSENT };
}

// --- internal ---

/** Each piece holds whole rows, because several processes may append at the same time. */
function* encoding(facts: Iterable<Fact>): Steps<{ readonly pieces: string[]; readonly count: number }> {
  const pieces: string[] = [];
  let rows: string[] = [];
  let count = 0;
  for (const fact of facts) {
    rows.push(`${encode(fact)}\n`);
    count += 1;
    if (rows.length < STRETCH) continue;
    pieces.push(rows.join(""));
    rows = [];
    yield;
  }
  if (rows.length > 0) pieces.push(rows.join(""));
  return { pieces, count };
}

function encode(fact: Fact): string {
  const { path, size, mtimeMs, ctimeMs, ino, binary, state } = fact;
  if (!hasContent(state)) return JSON.stringify([path]);
  const row = [path, size, mtimeMs, ctimeMs, ino, state.sha, state.mode, binary ? 1 : 0];
  return JSON.stringify(state.kind === "link" ? [...row, state.target] : row);
}

/** Null for anything that is not a whole row: a torn tail, or bytes of another program. */
function decode(row: string): Fact | null {
  const value: unknown = orElse(() => JSON.parse(row), null);
  if (!Array.isArray(value) || typeof value[0] !== "string") return null;
  if (value.length === 1) return goneFact(value[0]);
  const [path, size, mtimeMs, ctimeMs, ino, sha, mode, binary, target] = value;
  if (![size, mtimeMs, ctimeMs, ino, mode].every(Number.isFinite) || !isSha256(sha)) return null;
  const state: FileState =
    typeof target === "string" ? { kind: "link", sha, mode, target } : { kind: "file", sha, mode };
  return { path, size, mtimeMs, ctimeMs, ino, binary: binary !== 0, state };
}
