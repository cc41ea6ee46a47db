/**
 * Remembers answers of `always` and `never` per workspace, by tool and exact arguments; of a plain command line the words count. They are
 * stored outside the workspace as lines that are only appended, so that several processes can add answers without losing any.
 */
import { createHash } from "node:crypto";
import { appendFile, mkdir, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseJson } from "@chimera/acp-schema/lenient";
import type { AnswerLines, PolicyCall } from "@chimera/acp-schema/policy";
import { commandWords } from "./rule.js";

export type LastingAnswer = "always" | "never";

export interface Remembered {
  recall(workspace: string, call: PolicyCall): Promise<LastingAnswer | null>;
  /** With a prefix, `always` applies to every command that begins with these words. */
  remember(workspace: string, call: PolicyCall, answer: LastingAnswer, prefix?: readonly string[]): Promise<void>;
  prefixes(workspace: string): Promise<readonly (readonly string[])[]>;
}

/**
 * Answers for good, by tool and exact arguments, for each workspace.
 *
 * @example
 * const remembered = createRemembered(answerFiles(join(home, "remembered")));
 */
export function createRemembered(lines: AnswerLines): Remembered {
  const kept = new Map<string, Kept>();

  const remember: Remembered["remember"] = async (workspace, call, answer, prefix) => {
    const about = prefix ? { prefix } : { key: keyOf(call) };
    const line = { v: VERSION, ...about, answer, tool: call.tool.name, workspace, at: new Date().toISOString() };
    await lines.add(workspace, JSON.stringify(line));
  };
  /** Reads the lines again if they have changed. */
  const look = async (workspace: string): Promise<Kept> => {
    const mark = await lines.mark(workspace);
    const known = kept.get(workspace);
    if (known?.mark === mark) return known;
    const read = { mark, ...answersIn(mark === "" ? "" : await lines.read(workspace)) };
    kept.set(workspace, read);
    return read;
  };

  return {
    remember,
    prefixes: async (workspace) => [...(await look(workspace)).prefixes.values()],
    recall: async (workspace, call) => {
      const { answers } = await look(workspace);
      const current = answers.get(keyOf(call));
      const former = answers.get(exactKeyOf(call));
      // Version 1 stored exact arguments only. Store its answer for the words too, if the file is writable.
      if (former && !current) await remember(workspace, call, former.answer).catch(() => {});
      return latest(current, former)?.answer ?? null;
    },
  };
}

/**
 * Stores a file per workspace, named by a hash of the workspace's path. Files are created when needed; only their owner can read them.
 *
 * @example
 * const remembered = createRemembered(answerFiles("/home/me/.chimera/remembered"));
 */
export function answerFiles(directory: string): AnswerLines {
  const fileOf = (workspace: string) => join(directory, `${sha256(workspace).slice(0, 32)}.jsonl`);
  return {
    async add(workspace, line) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      // The newline in front separates this line from one that a crash cut off.
      await appendFile(fileOf(workspace), `\n${line}\n`, { mode: 0o600 });
    },
    async mark(workspace) {
      const found = await stat(fileOf(workspace)).catch(absent);
      return found ? `${found.ino} ${found.size} ${found.mtimeMs}` : "";
    },
    read: (workspace) => readFile(fileOf(workspace), "utf8").catch(() => ""),
    async workspaces() {
      const names = (await readdir(directory).catch(() => [])).filter((name) => name.endsWith(".jsonl"));
      const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
      const found = texts.flatMap((text) => text.split("\n").flatMap((line) => answerIn(line)?.workspace ?? []));
      return [...new Set(found)];
    },
  };
}

/** Parses a line; null for one without an answer, because it is empty or incomplete. */
export function answerIn(line: string): AnswerLine | null {
  const { key, answer, prefix, workspace } = Object(parseJson(line)) as Record<string, unknown>;
  const place = { ...(typeof workspace === "string" && { workspace }) };
  if (isWords(prefix) && answer === "always") return { about: prefix.join(" "), prefix, answer, ...place };
  if (typeof key !== "string" || (answer !== "always" && answer !== "never")) return null;
  return { about: key, answer, ...place };
}

// --- internal ---

interface Kept {
  /** The mark of the lines when they were read. */
  readonly mark: string;
  readonly answers: ReadonlyMap<string, Given>;
  /** Joined words -> words. */
  readonly prefixes: ReadonlyMap<string, readonly string[]>;
}

interface AnswerLine {
  /** The key of a call, or the words that commands begin with. */
  readonly about: string;
  readonly prefix?: readonly string[];
  readonly answer: LastingAnswer;
  readonly workspace?: string;
}

interface Given {
  readonly answer: LastingAnswer;
  /** Number of its line, because the last answer wins. */
  readonly order: number;
}

/** The version in new lines. A line without one has version 1. Version 3 added prefixes, which older programs ignore. */
const VERSION = 3;
const MOST_PREFIXES = 500;

function answersIn(text: string): Omit<Kept, "mark"> {
  const answers = new Map<string, Given>();
  const prefixes = new Map<string, readonly string[]>();
  for (const [order, line] of text.split("\n").entries()) {
    const said = answerIn(line);
    if (said?.prefix && prefixes.size < MOST_PREFIXES) prefixes.set(said.about, said.prefix);
    else if (said && !said.prefix) answers.set(said.about, { answer: said.answer, order });
  }
  return { answers, prefixes };
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT") return null;
  throw error;
}

/** Words without characters that have a meaning in rules. */
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

/** The key of a call: tool, arguments in any order, and real paths; of a plain command line only the words. */
function keyOf(call: PolicyCall): string {
  const { command, isShell } = call.touches;
  const words = command !== undefined && isShell ? commandWords(command) : null;
  if (words === null) return exactKeyOf(call);
  // An object instead of the text, so that no call with exact arguments has the same key.
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

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
