/**
 * What was learned about a workspace's files, kept between processes: "with this size, times and inode, that path had this
 * content". Each line is true on its own, so several processes may append; a lost line only costs a re-read.
 */
import { appendFileSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { readTextIfAny, replaceFile } from "../content/atomic-file.js";
import { isSha256 } from "../content/blobs.js";
import { ABSENT, type FileState } from "../content/file-state.js";
import { errnoOf } from "../errors.js";

export interface Fact {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
  readonly binary: boolean;
  readonly state: FileState;
}

export interface Facts {
  load(): Map<string, Fact>;
  /** Remembers what changed; rewrites the file from `all` once most of its lines are outdated. */
  save(changed: readonly Fact[], all: () => Iterable<Fact>, total: number): void;
  /** Whether anybody saved some after this time. */
  savedAfter(ms: number): boolean;
}

const VERSION = 2;

export function createFacts(path: string): Facts {
  let lines = 0;

  function rewrite(all: Iterable<Fact>): void {
    const out = [JSON.stringify({ v: VERSION })];
    for (const fact of all) out.push(encode(fact));
    lines = out.length;
    replaceFile(path, `${out.join("\n")}\n`);
  }

  return {
    load() {
      const facts = new Map<string, Fact>();
      const text = readTextIfAny(path) ?? "";
      const rows = text.split("\n");
      if (rows[0] !== JSON.stringify({ v: VERSION })) return facts;
      for (const row of rows.slice(1)) {
        const fact = decode(row);
        if (fact === null) continue;
        lines += 1;
        if (fact.state.kind === "absent") facts.delete(fact.path);
        else facts.set(fact.path, fact);
      }
      return facts;
    },
    save(changed, all, total) {
      if (changed.length === 0) return;
      if (lines === 0 || lines + changed.length > 2 * total + 1000) {
        rewrite(all());
        return;
      }
      const text = `${changed.map(encode).join("\n")}\n`;
      try {
        appendFileSync(path, text, { mode: 0o600, flag: "a" });
        lines += changed.length;
      } catch (error) {
        if (errnoOf(error) !== "ENOENT") throw error;
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        rewrite(all());
      }
    },
    savedAfter: (ms) => (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > ms,
  };
}

/** The fact that a path is gone. */
export function goneFact(path: string): Fact {
  return { path, size: 0, mtimeMs: 0, ctimeMs: 0, ino: 0, binary: false, state: ABSENT };
}

// --- internal ---

function encode(fact: Fact): string {
  const { path, size, mtimeMs, ctimeMs, ino, binary, state } = fact;
  if (state.kind !== "file" && state.kind !== "link") return JSON.stringify([path]);
  const row = [path, size, mtimeMs, ctimeMs, ino, state.sha, state.mode, binary ? 1 : 0];
  return JSON.stringify(state.kind === "link" ? [...row, state.target] : row);
}

/** Null for anything that is not a whole row: a torn tail, or bytes of somebody else. */
function decode(row: string): Fact | null {
  let value: unknown;
  try {
    value = JSON.parse(row);
  } catch {
    return null;
  }
  if (!Array.isArray(value) || typeof value[0] !== "string") return null;
  if (value.length === 1) return goneFact(value[0]);
  const [path, size, mtimeMs, ctimeMs, ino, sha, mode, binary, target] = value;
  if (![size, mtimeMs, ctimeMs, ino, mode].every(Number.isFinite) || !isSha256(sha)) return null;
  const state: FileState =
    typeof target === "string" ? { kind: "link", sha, mode, target } : { kind: "file", sha, mode };
  return { path, size, mtimeMs, ctimeMs, ino, binary: binary !== 0, state };
}
