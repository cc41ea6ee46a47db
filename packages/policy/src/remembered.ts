/**
 * What was answered `always` or `never`, by tool and arguments, per workspace: exact arguments, but for a plain command line,
 * of which the words count. Lines that are only added, outside the workspace, so that several processes can add to them and none
 * can lose another's answer.
 */
import { createHash } from "node:crypto";
import { appendFile, mkdir, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { AnswerLines, PolicyCall } from "@chimera/acp-schema/policy";
import { commandWords } from "./rule.js";

export type LastingAnswer = "always" | "never";

export interface Remembered {
  recall(workspace: string, call: PolicyCall): Promise<LastingAnswer | null>;
  /** With a prefix, `always` holds for every command that begins with these words. */
  remember(workspace: string, call: PolicyCall, answer: LastingAnswer, prefix?: readonly string[]): Promise<void>;
  prefixes(workspace: string): Promise<readonly (readonly string[])[]>;
}

export function createRemembered(lines: AnswerLines): Remembered {
  const kept = new Map<string, Kept>();

  const remember: Remembered["remember"] = async (workspace, call, answer, prefix) => {
    const about = prefix ? { prefix } : { key: keyOf(call) };
    const line = { v: VERSION, ...about, answer, tool: call.tool.name, workspace, at: new Date().toISOString() };
    await lines.add(workspace, JSON.stringify(line));
  };
  /** Reads the lines again when there are others. */
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
      // Version 1 knew exact arguments only. What it kept counts for the words from now on, where they can be written down.
      if (former && !current) await remember(workspace, call, former.answer).catch(() => {});
      return latest(current, former)?.answer ?? null;
    },
  };
}

/**
 * A file for each workspace, under a name that is made of the workspace's. Made when needed, readable by its owner only.
 *
 * @example
 * const remembered = createRemembered(answerFiles("/home/me/.chimera/remembered"));
 */
export function answerFiles(directory: string): AnswerLines {
  const fileOf = (workspace: string) => join(directory, `${sha256(workspace).slice(0, 32)}.jsonl`);
  return {
    async add(workspace, line) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      // The newline in front keeps a line that a crash cut short from swallowing this one.
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

/** What a line says; null for one that holds no answer, because it is empty or was cut short. */
export function answerIn(line: string): AnswerLine | null {
  try {
    const { key, answer, prefix, workspace } = JSON.parse(line) as Record<string, unknown>;
    const place = { ...(typeof workspace === "string" && { workspace }) };
    if (isWords(prefix) && answer === "always") return { about: prefix.join(" "), prefix, answer, ...place };
    if (typeof key !== "string" || (answer !== "always" && answer !== "never")) return null;
    return { about: key, answer, ...place };
  } catch {
    return null;
  }
}

// --- internal ---

interface Kept {
  /** Of the lines when they were read. */
  readonly mark: string;
  readonly answers: ReadonlyMap<string, Given>;
  /** By their words. */
  readonly prefixes: ReadonlyMap<string, readonly string[]>;
}

interface AnswerLine {
  /** The key of calls, or the words that they begin with. */
  readonly about: string;
  readonly prefix?: readonly string[];
  readonly answer: LastingAnswer;
  readonly workspace?: string;
}

interface Given {
  readonly answer: LastingAnswer;
  /** Its line: the last answer that was given holds. */
  readonly order: number;
}

/** Of the lines that are written; a line without one is of version 1. Version 3 has prefixes, which older programs pass over. */
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

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
