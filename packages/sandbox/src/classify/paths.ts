import { type Dirent, opendirSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { isInside, realPath } from "../confine/paths.js";
import { isSecret, isSecretName } from "../secrets.js";
import { firstOf, words } from "../words.js";
import type { PlainWord } from "./plain-script.js";
import { globMatches, loosened } from "./rules.js";

/** The context for a command's paths: its directory and the workspace's directories, all absolute. */
export interface Standpoint {
  readonly cwd: string;
  readonly roots: readonly string[];
  /** How many more names may be looked up for the patterns of the whole command. */
  readonly looks: { left: number };
  /** How many more names may be looked up below directories. */
  readonly below: { left: number };
}

const MAX_PATH = 1024;

/** Harmless files outside a workspace. */
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
  if (word.glob && text.includes("$?")) return "a variable decides what it reads";
  const fixed = word.glob ? staticPart(text) : text;
  if (fixed === undefined) return `${text} can match hidden or outside names`;
  const concern = isSecretName(text) ? `${text} may hold credentials` : fixedConcern(fixed, standpoint);
  if (concern || !word.glob) return concern;
  const names = namesLike(text, standpoint);
  if (!names) return `${text} can match too many names to judge`;
  return firstOf(names, (name) => fixedConcern(name, standpoint));
}

/** The same for several paths. */
export function pathsConcern(paths: readonly PlainWord[], standpoint: Standpoint): string | undefined {
  return firstOf(paths, (path) => pathConcern(path, standpoint));
}

/** The same for the files of a program that reads options everywhere among its arguments. */
export function firstPath(paths: readonly PlainWord[], standpoint: Standpoint, program: string): string | undefined {
  return firstOf(paths, (path) => {
    if (path.glob && /^[*?[]/.test(path.text)) return `${program}: ${path.text}, which can become an option`;
    if (path.text.startsWith("-") && path.text !== "-") return `${program}: ${path.text} is an option`;
    return pathConcern(path, standpoint);
  });
}

/** The entries of a directory, up to the lookups that are left; none if it cannot be listed, because a command could not list it either. */
export function entriesOf(directory: string, looks: { left: number }): Dirent[] {
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
    // It is not a directory, or this process may not list it.
  }
  return entries;
}

/** The directory that a glob cannot leave; undefined when the glob can match hidden names or go up. */
export function staticPart(pattern: string): string | undefined {
  const steps = pattern.split("/");
  const first = steps.findIndex((step) => /[*?[\]]/.test(step));
  const globbed = steps.slice(first);
  if (globbed.some((step) => step === ".." || step.startsWith(".") || step.startsWith("["))) return undefined;
  return steps.slice(0, first).join("/") || (pattern.startsWith("/") ? "/" : ".");
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

/** All names that a pattern could become, and perhaps more; undefined when there are too many to look up. */
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

/** Resolves a path like the kernel: follows a link before a `..` after it. Keeps the part that does not exist. */
function realPathOfExisting(path: string): string {
  let rest = "";
  for (let at = path; ; at = dirname(at)) {
    const real = realPath(at);
    if (real) return resolve(real, rest);
    if (at === dirname(at)) return resolve(path);
    rest = join(basename(at), rest);
  }
}
