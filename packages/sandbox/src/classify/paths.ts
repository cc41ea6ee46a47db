import { opendirSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { isInside, realPath } from "../confine/paths.js";
import { globMatches, loosened } from "./glob.js";
import type { PlainWord } from "./plain-script.js";

/** From where a command's words are read: where relative paths start, what belongs to the workspace; all absolute. */
export interface Standpoint {
  readonly cwd: string;
  readonly roots: readonly string[];
  /** Names that may still be looked at to see what patterns stand for, in the whole command. */
  readonly looks: { left: number };
}

const MAX_PATH = 1024;

/** Harmless places outside a workspace. */
const PUBLIC_FILES = new Set([
  "/dev/null",
  "/dev/stdin",
  "/etc/os-release",
  "/etc/lsb-release",
  "/etc/debian_version",
  "/proc/cpuinfo",
  "/proc/meminfo",
  "/proc/loadavg",
  "/proc/uptime",
  "/proc/version",
]);

/** Names that hold credentials, wherever they are; compared with each step of a path, lower case. */
const SENSITIVE: readonly RegExp[] = [
  /^\.env(?!\.(example|sample|template|dist)$)(\..*|rc)?$/,
  /^\.(ssh|gnupg|aws|azure|kube|docker|netrc|npmrc|pypirc|pgpass|vault-token|htpasswd|git-credentials|password-store|chimera)$/,
  /^id_(rsa|dsa|ecdsa|ed25519)/,
  // Source about them is not one of them; `secrets.py` and `secrets.h` often are.
  /^(credentials?|secrets?|tokens?|passwords?|service[-_]account)(?!\.([cm]?[jt]sx?|cc?|cpp|cs|css|go|java|kt|less|mdx?|rb|rs|scala|scss|svelte|swift|vue)$)(\..*)?$/,
  /\.(pem|key|p12|pfx|jks|keystore|kdbx|tfstate|asc|gpg)$/,
  /^(shadow|gshadow|sudoers|environ|authorized_keys|known_hosts)$/,
  /_history$/,
];

/** Why reading this path needs a question, or undefined when it is an ordinary path of the workspace. */
export function pathConcern(word: PlainWord, standpoint: Standpoint): string | undefined {
  const { text } = word;
  if (text === "-" || PUBLIC_FILES.has(text)) return undefined;
  if (text.length > MAX_PATH) return "a path is too long to judge";
  const fixed = word.glob ? staticPart(text) : text;
  if (fixed === undefined) return `${text} can match hidden or outside names`;
  const concern = isSensitive(text) ? `${text} may hold credentials` : fixedConcern(fixed, standpoint);
  if (concern || !word.glob) return concern;
  const names = namesLike(text, standpoint);
  if (!names) return `${text} can match too many names to judge`;
  for (const name of names) {
    const found = fixedConcern(name, standpoint);
    if (found) return found;
  }
  return undefined;
}

/** True when some step of the path is a name that holds credentials. */
export function isSensitive(path: string): boolean {
  const steps = path.toLowerCase().split(/[/\\:=]/);
  return (
    steps.some((step) => SENSITIVE.some((pattern) => pattern.test(step))) ||
    /(^|[/:])\.git\/(config|credentials)/.test(path)
  );
}

// --- internal ---

function fixedConcern(text: string, standpoint: Standpoint): string | undefined {
  if (isSensitive(text)) return `${text} may hold credentials`;
  const within = (path: string, roots: readonly string[]) => roots.some((root) => isInside(path, root));
  const path = resolve(standpoint.cwd, text);
  if (!within(path, standpoint.roots)) return `${text} is outside the workspace`;
  const real = realPathOfExisting(isAbsolute(text) ? text : `${standpoint.cwd}/${text}`);
  if (!within(real, standpoint.roots.map(realPathOfExisting))) return `${text} leads outside the workspace`;
  return real !== path && isSensitive(real) ? `${text} leads to credentials` : undefined;
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
  const names: string[] = [];
  if (!realPath(directory)) return names;
  try {
    const listing = opendirSync(directory, { bufferSize: 512 });
    try {
      for (let entry = listing.readSync(); entry && looks.left >= 0; entry = listing.readSync()) {
        looks.left -= 1;
        if (!entry.name.startsWith(".")) names.push(entry.name);
      }
    } finally {
      listing.closeSync();
    }
  } catch {
    // No directory, or none of ours: the shell finds nothing there either.
  }
  return names;
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
