import { basename, dirname, join, resolve } from "node:path";
import { entryAt, readSmall } from "../confine/paths.js";
import { holdsCredentials } from "../git-settings.js";
import { isSecret } from "../secrets.js";
import { entriesOf, pathConcern, type Standpoint, staticPart } from "./paths.js";
import type { PlainWord } from "./plain-script.js";
import { globMatches, loosened } from "./rules.js";

/** What a recursive search reads below its directories. */
export interface Search {
  /** The patterns to which its files are restricted; none if it reads all. */
  readonly only: readonly string[];
  /** The patterns of the hidden names that it reads. */
  readonly hidden: readonly string[];
  /** Whether a `!` line in a `.gitignore` or a similar file makes it read a hidden name. */
  readonly heedsIgnoreFiles: boolean;
  /** Whether it reads the file to which a link leads. */
  readonly followsLinks: boolean;
}

/** Why a command that reads everything below this path needs a question, or undefined. */
export function concernBelow(
  { text, glob }: PlainWord,
  standpoint: Standpoint,
  { only, hidden, heedsIgnoreFiles, followsLinks }: Search,
): string | undefined {
  const start = resolve(standpoint.cwd, glob ? (staticPart(text) ?? ".") : text);
  const prefix = `${standpoint.cwd}/`;
  const shapes = hidden.map(shapeOf);
  if (heedsIgnoreFiles) for (const at of above(start)) shapes.push(...unhiddenBy(at));
  const isRead = (path: string, name: string, isDirectory: boolean): boolean =>
    (!name.startsWith(".") || shapes.some((shape) => fits(shape, path, isDirectory))) &&
    (isDirectory || only.length === 0 || only.some((pattern) => globMatches(loosened(pattern), name)));
  const pending = [start];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    const entries = entriesOf(at, standpoint.below);
    if (heedsIgnoreFiles && entries.some(({ name }) => name === ".git" || IGNORE_FILES.has(name)))
      shapes.push(...unhiddenBy(at));
    for (const entry of entries) {
      const isDirectory = entry.isDirectory();
      const isLeftOut = entry.name === "node_modules" || (glob && at === start && entry.name.startsWith("."));
      // `join` would cost more than the lookup itself.
      const found = `${at}/${entry.name}`;
      const name = found.slice(found.startsWith(prefix) ? prefix.length : 0);
      if (isLeftOut || !isRead(name, entry.name, isDirectory)) continue;
      // Of the files in a `.git`, only the settings may hold secrets.
      const isRepository = entry.name === ".git" && isRead(`${name}/config`, "config", false);
      if (isRepository && holdsCredentials(found)) return `${name}/config holds credentials`;
      if (isDirectory && entry.name !== ".git") pending.push(found);
      if (!isDirectory && isSecret(found, name)) return `${name} may hold credentials`;
      const concern = followsLinks && entry.isSymbolicLink() && pathConcern({ text: name, glob: false }, standpoint);
      if (concern) return concern;
    }
    if (standpoint.below.left < 0) return `${text} holds too many names to judge`;
  }
  return undefined;
}

// --- internal ---

/** The files from which ripgrep takes patterns. A pattern with a `!` lets it read a name that it would pass over, even a hidden one. */
const IGNORE_FILES: ReadonlySet<string> = new Set([".gitignore", ".ignore", ".rgignore"]);

/** A pattern for names, in a form that matches at least as much as the pattern itself, and quickly. */
interface Shape {
  readonly text: string;
  readonly hasSteps: boolean;
  readonly onlyDirectories: boolean;
}

function shapeOf(pattern: string): Shape {
  const text = loosened(pattern.replace(/\{.*\}|\{.*/gs, "*"))
    .replaceAll("**/", "*")
    .replace(/^\/|\/$/g, "")
    .replace(/(?:[^*]*\*){8}.*/s, "*")
    .toLowerCase();
  const hasSteps = text.includes("/");
  return { text: hasSteps ? `*${text}` : text, hasSteps, onlyDirectories: pattern.endsWith("/") };
}

function fits({ text, hasSteps, onlyDirectories }: Shape, path: string, isDirectory: boolean): boolean {
  if (onlyDirectories && !isDirectory) return false;
  return globMatches(text, (hasSteps ? path : basename(path)).toLowerCase());
}

/** The patterns of the directory's ignore files that let a hidden name be read. Files that cannot be judged let all be read. */
function unhiddenBy(directory: string): Shape[] {
  const lines = [...IGNORE_FILES, ".git/info/exclude"]
    .map((name) => join(directory, name))
    .filter((file) => entryAt(file) !== undefined)
    .flatMap((file) => (readSmall(file) ?? "!*").split("\n"))
    .filter((line) => line.startsWith("!"))
    .map((line) => line.slice(1).trimEnd());
  return (lines.length > MAX_LINES || lines.some(({ length }) => length > MAX_LINE) ? ["*"] : lines).map(shapeOf);
}

/** Limits of the ignore files of a directory, which bound the time for matching their lines. */
const MAX_LINES = 50;
const MAX_LINE = 200;

/** The directories above a path. */
function above(path: string): string[] {
  const directory = dirname(path);
  return directory === path ? [] : [directory, ...above(directory)];
}
