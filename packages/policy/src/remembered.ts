/**
 * What was answered `always` or `never`, by tool and arguments, per workspace: exact arguments, but for a plain command line,
 * of which the words count. One append-only file each, outside the workspace, so that several processes can add to it and none
 * can lose another's answer.
 */
import { createHash } from "node:crypto";
import { appendFile, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import type { PolicyCall } from "@chimera/acp-schema/policy";
import { commandWords } from "./rule.js";

export type LastingAnswer = "always" | "never";

export interface Remembered {
  recall(workspace: string, call: PolicyCall): Promise<LastingAnswer | null>;
  /** With a prefix, `always` holds for every command that begins with these words. */
  remember(workspace: string, call: PolicyCall, answer: LastingAnswer, prefix?: readonly string[]): Promise<void>;
  prefixes(workspace: string): Promise<readonly (readonly string[])[]>;
}

export interface RememberedOptions {
  /** Made when needed, readable by its owner only. */
  readonly directory: string;
  readonly now?: () => Date;
}

export function createRemembered({ directory, now = () => new Date() }: RememberedOptions): Remembered {
  const caches = new Map<string, Cache>();
  const cacheOf = (workspace: string): Cache => {
    const file = join(directory, `${sha256(workspace).slice(0, 32)}.jsonl`);
    const cache = caches.get(file) ?? {
      file,
      read: 0,
      rest: "",
      answers: new Map(),
      prefixes: new Map(),
      given: 0,
      looking: Promise.resolve(),
    };
    caches.set(file, cache);
    return cache;
  };
  const remember: Remembered["remember"] = async (workspace, call, answer, prefix) => {
    const { file } = cacheOf(workspace);
    const about = prefix ? { prefix } : { key: keyOf(call) };
    const line = { v: VERSION, ...about, answer, tool: call.tool.name, workspace, at: now().toISOString() };
    await mkdir(directory, { recursive: true, mode: 0o700 });
    // The newline in front keeps a line that a crash cut short from swallowing this one.
    await appendFile(file, `\n${JSON.stringify(line)}\n`, { mode: 0o600 });
  };
  const look = async (workspace: string): Promise<Cache> => {
    const cache = cacheOf(workspace);
    // One after the other: two that read at once would count the same bytes twice, and pass over what comes next.
    cache.looking = cache.looking.then(
      () => catchUp(cache),
      () => catchUp(cache),
    );
    await cache.looking;
    return cache;
  };
  return {
    remember,
    prefixes: async (workspace) => [...(await look(workspace)).prefixes.values()],
    recall: async (workspace, call) => {
      const cache = await look(workspace);
      const current = cache.answers.get(keyOf(call));
      const former = cache.answers.get(exactKeyOf(call));
      // Version 1 knew exact arguments only. What it kept counts for the words from now on, where they can be written down.
      if (former && !current) await remember(workspace, call, former.answer).catch(() => {});
      return latest(current, former)?.answer ?? null;
    },
  };
}

// --- internal ---

interface Cache {
  readonly file: string;
  /** Bytes taken in so far. */
  read: number;
  /** The beginning of a line whose end has not been written yet. */
  rest: string;
  readonly answers: Map<string, Given>;
  /** By their words. */
  readonly prefixes: Map<string, readonly string[]>;
  /** Answers taken in so far. */
  given: number;
  /** The last look at the file. */
  looking: Promise<void>;
}

interface Given {
  readonly answer: LastingAnswer;
  /** Counts the answers of a file: the last one given holds. */
  readonly order: number;
}

/** Of the lines that are written; a line without one is of version 1. Version 3 has prefixes, which older programs pass over. */
const VERSION = 3;
const MOST_PREFIXES = 500;

const MAX_STEP = 4 * 1024 * 1024;

/** Reads only what was appended since the last look. */
async function catchUp(cache: Cache): Promise<void> {
  const handle = await open(cache.file, "r").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (handle === null) {
    cache.answers.clear();
    cache.prefixes.clear();
    Object.assign(cache, { read: 0, rest: "" });
    return;
  }
  try {
    const { size } = await handle.stat();
    if (size < cache.read) Object.assign(cache, { read: 0, rest: "" });
    while (cache.read < size) {
      const buffer = Buffer.alloc(Math.min(size - cache.read, MAX_STEP));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, cache.read);
      if (bytesRead === 0) break;
      cache.read += bytesRead;
      take(cache, buffer.toString("latin1", 0, bytesRead));
    }
  } finally {
    await handle.close();
  }
}

function take(cache: Cache, text: string): void {
  const lines = (cache.rest + text).split("\n");
  cache.rest = lines.pop() ?? "";
  for (const line of lines) {
    try {
      const { key, answer, prefix } = JSON.parse(line) as Record<string, unknown>;
      if (isWords(prefix) && answer === "always" && cache.prefixes.size < MOST_PREFIXES)
        cache.prefixes.set(prefix.join(" "), prefix);
      if (typeof key !== "string" || (answer !== "always" && answer !== "never")) continue;
      cache.given += 1;
      cache.answers.set(key, { answer, order: cache.given });
    } catch {
      // An empty or torn line holds no answer.
    }
  }
}

/** Words that a rule takes as they are. */
function isWords(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((word) => typeof word === "string" && /^[\w:.-]+$/.test(word))
  );
}

function latest(a: Given | undefined, b: Given | undefined): Given | undefined {
  return a && b ? (a.order > b.order ? a : b) : (a ?? b);
}

/** The same tool, the same arguments in any order, meaning the same files; of a plain command line the same words. */
function keyOf(call: PolicyCall): string {
  const { command, isShell } = call.touches;
  const words = command !== undefined && isShell ? commandWords(command) : null;
  if (words === null) return exactKeyOf(call);
  // Not the text of an argument: no exact arguments have the same key.
  const normal = Object.entries(call.args).map(([name, value]) => [name, value === command ? { words } : value]);
  return exactKeyOf({ ...call, args: Object.fromEntries(normal) });
}

function exactKeyOf({ tool, args, touches }: PolicyCall): string {
  return sha256(canonical({ tool: tool.name, args, reads: touches.reads, writes: touches.writes }));
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(",")}}`;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
