/** Instructions of the person and the project (AGENTS.md, rule files). A folder's own rules come with the first call that touches it. */
import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import type { Turn } from "@chimera/acp-schema/agent";
import { parseFrontMatter } from "@chimera/acp-schema/front-matter";
import { startOf } from "@chimera/acp-schema/text";
import { listBeneath, readTextBeneath } from "../files/project-file.js";
import type { ToolContext, ToolOutcome } from "../tool.js";

/** Most characters of all instructions together. */
const MAX_INSTRUCTIONS = 64 * 1024;

const MARKER = "\n[...truncated]";

/** Each directory uses the first of these: the other file usually repeats the rules for another program. */
const NAMES = ["AGENTS.md", "CLAUDE.md"];

interface InstructionPlace {
  readonly root: string;
  /** The first of these that exists is used. */
  readonly paths: readonly string[];
  /** Set when the path is a directory: the file ending of its rule files. */
  readonly ending?: string;
}

type Roots = { readonly home: string; readonly cwd: string };

/** Where to look, in the order in which the model reads the files: the person's, then the project's from its root down. */
export function instructionPlaces({ home, cwd }: Roots): readonly InstructionPlace[] {
  return [...userPlaces(home), ...projectPlaces(cwd)];
}

/**
 * Reads all of them. If they do not all fit, those closest to the working directory get room first and the person's own last.
 *
 * @example
 * const { text, problems } = await loadInstructions({ home: homedir(), cwd });
 */
export async function loadInstructions({ home, cwd }: Roots): Promise<Instructions> {
  const [user, project] = await Promise.all([readAll(userPlaces(home)), readAll(projectPlaces(cwd))]);
  const problems: string[] = [];
  let room = MAX_INSTRUCTIONS;
  const fit = (found: Found): string => {
    const { source } = found;
    const text = instructionText(found);
    const kept = text.length <= room ? text : room <= MARKER.length ? "" : startOf(text, room - MARKER.length) + MARKER;
    if (kept !== text)
      problems.push(
        `${source} is ${kept ? "cut" : "left out"}: instructions have room for ${MAX_INSTRUCTIONS} characters.`,
      );
    room -= kept.length;
    return kept;
  };
  const fittedProject = project.toReversed().map(fit).reverse();
  const texts = [...user.map(fit), ...fittedProject].filter((text) => text !== "");
  return { text: texts.join("\n\n"), problems };
}

/** Appends a folder's instructions to the first result that touches the folder; again after a summary has removed them. */
export function folderRules(
  { history }: Pick<Turn, "history">,
  cwd: string,
): (outcome: ToolOutcome, context: ToolContext) => Promise<ToolOutcome> {
  const given = new Set<string>();
  const isNew = ({ source }: Found): boolean => {
    if (given.has(source)) return false;
    given.add(source);
    const mark = sourceMark(source);
    return !history.some((message) => message.role === "tool" && message.output.includes(mark));
  };
  return async (outcome, { permitted }) => {
    const paths = [...new Set([...(permitted?.reads ?? []), ...(permitted?.writes ?? [])])].slice(0, MOST_PATHS);
    if (!outcome.success || paths.length === 0 || !existsSync(cwd)) return outcome;
    // Permitted paths have their links resolved, so the root must too.
    const root = realpathSync.native(cwd);
    const found = await Promise.all(paths.map((path) => loadInstructionsBelow(root, path)));
    return withRules(outcome, found.flat().filter(isNew));
  };
}

// --- internal ---

interface Instructions {
  /** Empty when there are none. */
  readonly text: string;
  /** One sentence for each file that did not fit. */
  readonly problems: readonly string[];
}

/** The instructions of the directories between the working directory and a path, outermost first. */
async function loadInstructionsBelow(cwd: string, path: string): Promise<readonly Found[]> {
  const names = relative(cwd, path).split(sep);
  if (names[0] === "" || names[0] === ".." || isAbsolute(names.join(sep)) || names.length > MOST_LEVELS) return [];
  const folders = names.map((_, depth) => join(...names.slice(0, depth + 1)));
  return readAll(folders.map((folder) => ({ root: cwd, paths: NAMES.map((name) => join(folder, name)) })));
}

/** A file's instructions as a model reads them. The source mark shows whether a conversation already has them. */
function instructionText({ source, body }: Found): string {
  return `${sourceMark(source)}\n${body}`;
}

function sourceMark(source: string): string {
  return `<!-- source: ${source} -->`;
}

interface Found {
  /** The absolute path of the file. */
  readonly source: string;
  readonly body: string;
}

/** More levels than any project has. It bounds the file lookups for an absurdly deep directory. */
const MOST_LEVELS = 64;

function userPlaces(home: string): InstructionPlace[] {
  return [
    { root: home, paths: [join(".opencode", "AGENTS.md")] },
    { root: home, paths: [join(".config", "opencode", "AGENTS.md")] },
    { root: home, paths: [join(".chimera", "AGENTS.md")] },
  ];
}

function projectPlaces(cwd: string): InstructionPlace[] {
  const root = projectRoot(cwd);
  const names = relative(root, cwd)
    .split(sep)
    .filter((name) => name !== "");
  const folders = ["", ...names.map((_, depth) => join(...names.slice(0, depth + 1)))];
  return [
    ...folders.map((folder) => ({ root, paths: NAMES.map((name) => join(folder, name)) })),
    { root: cwd, paths: [join(".cursor", "rules")], ending: ".mdc" },
    { root: cwd, paths: [join(".opencode", "rules.md")] },
  ];
}

/** The nearest repository upwards, or `cwd`. Stops at a directory that anyone may write to or that another user owns. */
function projectRoot(cwd: string): string {
  const owner = statSync(cwd, { throwIfNoEntry: false })?.uid;
  let folder = cwd;
  for (let level = 0; level < MOST_LEVELS; level++) {
    const found = statSync(folder, { throwIfNoEntry: false });
    if (!found || found.uid !== owner || (folder !== cwd && found.mode & 0o002)) break;
    if (existsSync(join(folder, ".git"))) return folder;
    const parent = dirname(folder);
    if (parent === folder) break;
    folder = parent;
  }
  return cwd;
}

async function readAll(places: readonly InstructionPlace[]): Promise<Found[]> {
  const found = await Promise.all(places.map(readPlace));
  return found.flat();
}

async function readPlace({ root, paths, ending }: InstructionPlace): Promise<Found[]> {
  if (ending !== undefined) {
    const files = await listBeneath(root, paths[0] ?? "", ending);
    const read = await Promise.all(files.map((path) => readFile(root, path)));
    return read.flat();
  }
  for (const path of paths) {
    const read = await readFile(root, path);
    if (read.length > 0) return read;
  }
  return [];
}

async function readFile(root: string, path: string): Promise<Found[]> {
  const body = (await parseFrontMatter((await readTextBeneath(root, path)) ?? "")).body.trim();
  return body === "" ? [] : [{ source: join(root, path), body }];
}

const MOST_PATHS = 8;
const LONGEST = 16 * 1024;

function withRules(outcome: ToolOutcome, found: readonly Found[]): ToolOutcome {
  if (found.length === 0) return outcome;
  const rules = found.map((each) => startOf(instructionText(each), LONGEST)).join("\n\n");
  return { ...outcome, output: `${outcome.output}\n\n[Project rules for the files of this folder:]\n${rules}` };
}
