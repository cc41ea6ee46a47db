/** `@chimera/sandbox/git`: whether git can run in a directory without starting other programs, and how. */
import { statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { readSmall, tried } from "./confine/paths.js";

/**
 * Variables for git commands that were judged harmless. They switch off settings of the repository that would run a program, and hooks,
 * submodules, the network and writing the index.
 */
export const QUIET_GIT: Readonly<Record<string, string>> = {
  ...configured({
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "diff.ignoreSubmodules": "all",
    "log.showSignature": "false",
    "protocol.allow": "never",
    "status.submoduleSummary": "false",
  }),
  GIT_NO_LAZY_FETCH: "1",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_PAGER: "cat",
  GIT_TERMINAL_PROMPT: "0",
};

/** A repository that git would find. */
export interface Repository {
  readonly directory: string;
  readonly worktree: string;
  /** Null while no branch is checked out. */
  readonly branch: string | null;
  /** Why git must not run here without a question: settings can run programs in spite of `QUIET_GIT`, or lead git elsewhere. */
  readonly concern: string | undefined;
}

/**
 * The nearest repository upwards. A directory that only resembles one counts too if there is a concern about it.
 *
 * @example
 * const repository = findRepository(process.cwd());
 */
export function findRepository(cwd: string): Repository | null {
  for (let worktree = cwd; ; worktree = dirname(worktree)) {
    for (const directory of [linkedDirectory(join(worktree, ".git")), isBare(worktree) ? worktree : null]) {
      if (directory === null) continue;
      const concern = directoryConcern(directory, worktree);
      const head = join(directory, "HEAD");
      const branch = /^ref: refs\/heads\/(\S{1,200})\n?$/.exec(readSmall(head) ?? "")?.[1] ?? null;
      if (concern || kindAt(head)) return { directory, worktree, branch, concern };
    }
    if (worktree === dirname(worktree)) return null;
  }
}

/**
 * Whether the settings of a git directory hold a password, which some git commands print: in an address, or in a header. `more`
 * are further files of settings.
 *
 * @example
 * const found = findRepository(process.cwd());
 * if (found && holdsCredentials(found.directory)) console.log(`git remote -v shows a password of ${found.worktree}`);
 */
export function holdsCredentials(directory: string, more: readonly string[] = []): boolean {
  return [...settingsFiles(directory), ...more].some((file) => AUTHORIZED.test(readSmall(file) ?? ""));
}

/** Keys that a fresh clone has, or that only change git's output: none runs a program or includes other settings. */
const HARMLESS: readonly RegExp[] = [
  /^core\.(abbrev|autocrlf|bare|compression|eol|filemode|ignorecase|logallrefupdates|precomposeunicode|protecthfs|protectntfs)$/,
  /^core\.(quotepath|repositoryformatversion|safecrlf|sharedrepository|sparsecheckout|sparsecheckoutcone|symlinks|worktree)$/,
  /^(branch\..*\.(description|merge|rebase|remote|pushremote|vscode-merge-base)|remote\..*\.(fetch|push|tagopt|promisor|partialclonefilter))$/,
  /^(user\.(name|email|signingkey)|init\.defaultbranch|pull\.(ff|rebase)|push\.(default|autosetupremote)|fetch\.prune)$/,
  /^(extensions\.(objectformat|partialclone|refstorage|worktreeconfig)|gc\.auto|advice\.[a-z]+|color\.[a-z.]+)$/,
  /^(submodule\..*\.(active|url)|submodule\.active|remote\..*\.(url|pushurl))$/,
];

/** An address such as `ext::sh -c …` runs a program named by its transport. Quotes are removed first, as git does. */
const RUNS_TRANSPORT = /^[a-z0-9+.-]+::/i;

/** The form that git writes: one header or setting per line. A line in any other form counts as suspect. */
const HEADER = /^\[([a-z0-9.-]+)(?: "([^"\\\]]*)")?\]$/i;
const SETTING = /^([a-z][a-z0-9-]*)(?:\s*=\s*(.*))?$/i;

/**
 * The lines of a git configuration that could make git run a program or read other settings, including lines in an unknown form.
 *
 * @example
 * suspectSettings("[core]\n\tpager = ./run-me\n"); // the line that names a program
 */
export function suspectSettings(text: string, isOff: (setting: string) => boolean = () => false): string[] {
  let section = "";
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => {
      if (line === "" || line.startsWith("#") || line.startsWith(";")) return false;
      const [, name, part] = HEADER.exec(line) ?? [];
      if (name !== undefined) {
        section = part === undefined ? name.toLowerCase() : `${name.toLowerCase()}.${part}`;
        return false;
      }
      const [, key = "", value = ""] = SETTING.exec(line) ?? [];
      const setting = `${section}.${key.toLowerCase()}`;
      return (
        value.endsWith("\\") ||
        RUNS_TRANSPORT.test(value.replaceAll('"', "")) ||
        !(HARMLESS.some((known) => known.test(setting)) || isOff(setting))
      );
    });
}

// --- internal ---

/** Settings that `QUIET_GIT` switches off, or that matter only to commands that write, sign or use the network. */
const OFF =
  /^(core\.(fsmonitor|hookspath|pager|editor|sshcommand|askpass)|log\.showsignature|commit\.gpgsign|credential\..*|alias\..*)$/;

/** An address with a password, or a header setting that may have one. Before an `@`, a name alone may be a token, but not for ssh. */
const AUTHORIZED = /(?<!ssh):\/\/[^/\s@]+@|:\/\/[^/\s@:]*:[^/\s@]*@|extraheader/i;

function configured(settings: Readonly<Record<string, string>>): Record<string, string> {
  const rows = Object.entries(settings);
  const variables = rows.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, key],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  return { GIT_CONFIG_COUNT: String(rows.length), ...Object.fromEntries(variables) };
}

function kindAt(path: string): "file" | "directory" | "other" | null {
  const found = tried(() => statSync(path));
  return !found ? null : found.isFile() ? "file" : found.isDirectory() ? "directory" : "other";
}

/** The git directory of a `.git`: itself, or the directory that it names. */
function linkedDirectory(pointer: string): string | null {
  const kind = kindAt(pointer);
  if (kind !== "file") return kind === null ? null : pointer;
  const named = /^gitdir: ([^\n]+)/.exec(readSmall(pointer) ?? "")?.[1];
  return named === undefined ? pointer : resolve(pointer, "..", named);
}

function isBare(path: string): boolean {
  return (
    kindAt(join(path, "HEAD")) !== null && ["objects", "commondir"].some((name) => kindAt(join(path, name)) !== null)
  );
}

/** The settings of a git directory, and of the repository to which it belongs if it is one of several worktrees. */
function settingsFiles(directory: string): string[] {
  const common = resolve(directory, (readSmall(join(directory, "commondir")) ?? ".").trim());
  return [...new Set([directory, common])].flatMap((place) => [join(place, "config"), join(place, "config.worktree")]);
}

function directoryConcern(directory: string, worktree: string): string | undefined {
  for (const file of settingsFiles(directory)) {
    if (kindAt(file) === null) continue;
    const text = readSmall(file);
    if (text === undefined) return `the settings in ${file} cannot be judged`;
    const [suspect] = suspectSettings(text, (setting) => OFF.test(setting));
    if (suspect) return `the repository's own settings can run programs: ${suspect}`;
    const elsewhere = /^\s*worktree\s*=\s*(.*)$/im.exec(text)?.[1]?.trim();
    if (elsewhere !== undefined && resolve(dirname(file), elsewhere) !== worktree)
      return `the repository is about ${elsewhere}`;
  }
  const modules = join(worktree, ".gitmodules");
  // A submodule has its own settings, which git obeys if this file says that the submodule must not be ignored.
  const isOdd = kindAt(modules) !== null && /ignore/i.test(readSmall(modules) ?? "ignore");
  return isOdd ? `${modules} makes git look into submodules` : undefined;
}
