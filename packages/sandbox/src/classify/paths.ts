import { type Dirent, opendirSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { isInside, readSmall, realPath } from "../confine/paths.js";
import { isSecret, isSecretName } from "../secrets.js";
import { firstOf, words } from "../words.js";
import type { PlainWord } from "./plain-script.js";
import { globMatches, loosened } from "./rules.js";

/** From where a command's words are read: where relative paths start, what belongs to the workspace; all absolute. */
export interface Standpoint {
  readonly cwd: string;
  readonly roots: readonly string[];
  /** Names that may still be looked at to see what patterns stand for, in the whole command. */
  readonly looks: { left: number };
  /** The same for what lies below directories. */
  readonly below: { left: number };
}

const MAX_PATH = 1024;

/** A password in an address, or a header that carries one. */
const AUTHORIZED = /:\/\/[^/\s@]+@|extraheader/i;

/** Harmless places outside a workspace. */
const PUBLIC_FILES = new Set(
  words(`
    /dev/null /dev/stdin /etc/os-release /etc/lsb-release /etc/debian_version
    /proc/cpuinfo /proc/meminfo /proc/loadavg /proc/uptime /proc/version
  `),
);

/** Why reading this path needs a question, or undefined when it is an ordinary path of the workspace. */
export function pathConcern(word: PlainWord, standpoint: Standpoint): string | undefined {
  const { text } = word;
  if (text === "-" || PUBLIC_FILES.has(text)) return undefined;
  if (text.length > MAX_PATH) return "a path is too long to judge";
  const fixed = word.glob ? staticPart(text) : text;
  if (fixed === undefined) return `${text} can match hidden or outside names`;
  const concern = isSecretName(text) ? `${text} may hold credentials` : fixedConcern(fixed, standpoint);
  if (concern || !word.glob) return concern;
  const names = namesLike(text, standpoint);
  if (!names) return `${text} can match too many names to judge`;
  return firstOf(names, (name) => fixedConcern(name, standpoint));
}

/** The same for all of them. */
export function pathsConcern(paths: readonly PlainWord[], standpoint: Standpoint): string | undefined {
  return firstOf(paths, (path) => pathConcern(path, standpoint));
}

/** Why a command that reads everything below this path needs a question, or undefined. */
export function concernBelow(
  { text, glob }: PlainWord,
  standpoint: Standpoint,
  isRead: (name: string, isDirectory: boolean) => boolean,
): string | undefined {
  const start = resolve(standpoint.cwd, glob ? (staticPart(text) ?? ".") : text);
  const prefix = `${standpoint.cwd}/`;
  const pending = [start];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    for (const entry of entriesOf(at, standpoint.below)) {
      const isDirectory = entry.isDirectory();
      const isLeftOut = entry.name === "node_modules" || (glob && at === start && entry.name.startsWith("."));
      if (isLeftOut || !isRead(entry.name, isDirectory)) continue;
      // Not `join`, which costs more than the look.
      const found = `${at}/${entry.name}`;
      const name = found.slice(found.startsWith(prefix) ? prefix.length : 0);
      // Of a repository's own files only the settings hold what a person would not show.
      const isRepository = entry.name === ".git" && isRead("config", false);
      if (isRepository && AUTHORIZED.test(readSmall(`${found}/config`) ?? ""))
        return `${name}/config holds credentials`;
      if (isDirectory && entry.name !== ".git") pending.push(found);
      if (!isDirectory && isSecret(found, name)) return `${name} may hold credentials`;
    }
    if (standpoint.below.left < 0) return `${text} holds too many names to judge`;
  }
  return undefined;
}

// --- internal ---

function fixedConcern(text: string, standpoint: Standpoint): string | undefined {
  if (isSecretName(text)) return `${text} may hold credentials`;
  const within = (path: string, roots: readonly string[]) => roots.some((root) => isInside(path, root));
  const path = resolve(standpoint.cwd, text);
  if (!within(path, standpoint.roots)) return `${text} is outside the workspace`;
  const real = realPathOfExisting(isAbsolute(text) ? text : `${standpoint.cwd}/${text}`);
  if (!within(real, standpoint.roots.map(realPathOfExisting))) return `${text} leads outside the workspace`;
  if (isSecret(real, "")) return `${text} may hold credentials`;
  return real !== path && isSecretName(real) ? `${text} leads to credentials` : undefined;
}

/** At least the names that the shell would make of a pattern; undefined when there are too many to look at. */
function namesLike(pattern: string, { cwd, looks }: Standpoint): string[] | undefined {
  let found = [isAbsolute(pattern) ? "/" : "."];
  for (const step of pattern.split("/").filter((part) => part !== "")) {
    found = /[*?[]/.test(step)
      ? found.flatMap((directory) =>
          visibleNames(`${isAbsolute(directory) ? "" : `${cwd}/`}${directory}`, looks)
            .filter((name) => globMatches(loosened(step), name))
            .map((name) => `${directory}/${name}`),
        )
      : found.map((directory) => `${directory}/${step}`);
    looks.left -= found.length;
    if (looks.left < 0) return undefined;
  }
  return found;
}

function visibleNames(directory: string, looks: Standpoint["looks"]): string[] {
  if (!realPath(directory)) return [];
  return entriesOf(directory, looks).flatMap(({ name }) => (name.startsWith(".") ? [] : [name]));
}

/** Fewer when no looks are left; none where nothing can be listed, which a command finds empty as well. */
function entriesOf(directory: string, looks: { left: number }): Dirent[] {
  const entries: Dirent[] = [];
  try {
    const listing = opendirSync(directory, { bufferSize: 512 });
    try {
      for (let entry = listing.readSync(); entry && looks.left >= 0; entry = listing.readSync()) {
        looks.left -= 1;
        entries.push(entry);
      }
    } finally {
      listing.closeSync();
    }
  } catch {
    // No directory, or one that this process may not list.
  }
  return entries;
}

/** The directory a glob cannot leave, or undefined when it can match hidden names or go up. */
function staticPart(pattern: string): string | undefined {
  const steps = pattern.split("/");
  const first = steps.findIndex((step) => /[*?[\]]/.test(step));
  const globbed = steps.slice(first);
  if (globbed.some((step) => step === ".." || step.startsWith(".") || step.startsWith("["))) return undefined;
  return steps.slice(0, first).join("/") || (pattern.startsWith("/") ? "/" : ".");
}

/** Where the kernel would end up: a link is followed before the `..` after it. What does not exist is taken as written. */
function realPathOfExisting(path: string): string {
  let rest = "";
  for (let at = path; ; at = dirname(at)) {
    const real = realPath(at);
    if (real) return resolve(real, rest);
    if (at === dirname(at)) return resolve(path);
    rest = join(basename(at), rest);
  }
}
