import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { realPath } from "../confine/paths.js";
import { findRepository, holdsCredentials } from "../git-settings.js";
import { words } from "../words.js";
import { type OptionTable, parseOptions } from "./options.js";
import { pathConcern, pathsConcern, type Standpoint } from "./paths.js";
import type { PlainWord } from "./plain-script.js";

interface GitReader extends OptionTable {
  /** The words allowed after the options: revisions and paths, these after a pattern to search for, or only words of this list. */
  readonly operands?: "any" | "pattern" | readonly string[];
  /** Operands are allowed only with one of these options. Without one, the command would create something. */
  readonly operandsNeed?: readonly string[];
}

const DIFF_LONG = words(`
  stat shortstat numstat name-only name-status oneline patch no-patch cached staged color no-color abbrev-commit
  summary no-renames find-renames check exit-code quiet word-diff color-words diff-filter= ignore-all-space
  ignore-space-change unified minimal patience histogram relative raw full-index abbrev no-prefix merge-base
  function-context dirstat
`);
const LOG_LONG = words(`
  ${DIFF_LONG.join(" ")}
  graph decorate no-decorate all branches tags remotes since= until= after= before= author= committer= grep= format
  pretty follow merges no-merges first-parent reverse date= max-count= skip= topo-order date-order left-right
  cherry-pick invert-grep no-walk source ancestry-path boundary count
`);

const diff: GitReader = { flags: "pszwbRaMCU0123456789", values: "S", long: DIFF_LONG };
const log: GitReader = { flags: "pszwbRaiEFPMCcmU0123456789", values: "nSG", long: LOG_LONG, counts: true };

/** Subcommands that only read with these options. */
const SUBCOMMANDS: Readonly<Record<string, GitReader>> = {
  blame: { flags: "wslefntbMC", values: "L", long: words("porcelain line-porcelain date= since= show-email") },
  branch: {
    flags: "arv",
    long: words("list all remotes show-current verbose merged= no-merged= contains= no-contains= sort= format= color"),
    operandsNeed: ["--list", "--contains", "--no-contains", "--merged", "--no-merged"],
  },
  "cat-file": { flags: "ptse" },
  "check-ignore": { flags: "vqn", long: words("verbose quiet no-index") },
  describe: { long: words("tags always dirty abbrev long all match= exact-match contains") },
  diff,
  "for-each-ref": { long: words("format= sort= count= contains= merged=") },
  grep: {
    flags: "aEFGHILPchilnoqvwpW",
    values: "eABCm",
    long: words("cached line-number ignore-case count files-with-matches name-only heading break and or not"),
    operands: "pattern",
  },
  log,
  "ls-files": {
    flags: "cdmostuz",
    long: words("cached deleted modified others ignored stage exclude-standard unmerged full-name error-unmatch"),
  },
  "ls-tree": { flags: "drtlz", long: words("name-only name-status full-tree long object-only") },
  "merge-base": { flags: "a", long: words("all is-ancestor octopus fork-point") },
  reflog: {
    flags: "p",
    values: "n",
    long: words("oneline date= all max-count="),
    operands: ["show", "HEAD"],
    counts: true,
  },
  remote: { flags: "v", long: words("verbose"), operands: ["get-url", "origin", "upstream"] },
  "rev-list": log,
  "rev-parse": {
    flags: "q",
    long: words(`
      show-toplevel show-prefix abbrev-ref short verify git-dir is-inside-work-tree is-bare-repository
      symbolic-full-name quiet git-common-dir
    `),
  },
  shortlog: { flags: "sne", long: [...LOG_LONG, "summary", "numbered", "email"] },
  show: log,
  "show-ref": { flags: "dhs", long: words("heads tags head verify hash") },
  stash: { operands: ["list"] },
  "stash show": diff,
  status: {
    // `n`, `o`, `a` and `l` because `-uno` and `-uall` attach a word to the letter.
    flags: "sbvzunoal",
    long: words("short branch porcelain untracked-files ignored show-stash ahead-behind verbose long no-renames"),
  },
  tag: {
    flags: "ln123456789",
    long: words("list sort= contains= merged= no-merged= points-at= format= column"),
    operandsNeed: ["-l", "--list", "--contains", "--points-at", "--merged", "--no-merged"],
  },
  worktree: { long: words("porcelain"), operands: ["list"] },
};

/** Options of git itself that change only where it runs. */
const GLOBAL = ["--no-pager", "-P", "--no-optional-locks", "-C"];

/** Why this git command does more than read the repository, or undefined. */
export function gitConcern(args: readonly PlainWord[], standpoint: Standpoint): string | undefined {
  const rest = [...args];
  let { cwd } = standpoint;
  for (let option = rest[0]?.text; option !== undefined && GLOBAL.includes(option); option = rest[0]?.text) {
    rest.shift();
    if (option !== "-C") continue;
    const place = rest.shift();
    if (!place || place.text === "" || place.glob) return "git -C goes to an unknown directory";
    const concern = pathConcern(place, { ...standpoint, cwd });
    if (concern) return concern;
    cwd = resolve(cwd, place.text);
    // Git stops at a missing directory before it reads anything.
    if (!realPath(cwd)) return undefined;
  }
  let name = rest.shift()?.text ?? "";
  if (name === "stash" && rest[0]?.text === "show") name += ` ${rest.shift()!.text}`;
  if (!Object.hasOwn(SUBCOMMANDS, name)) return `git ${name} is not known to only read`;
  const here = realPath(cwd);
  if (!here) return `git runs in ${cwd}, which does not exist yet`;
  const repository = findRepository(here);
  if (repository?.concern) return repository.concern;
  if (name === "remote" && repository && holdsCredentials(repository.directory, sharedSettings()))
    return "an address holds credentials";
  if (rest.some(({ text }) => CHECKS_SIGNATURE.test(text))) return `git ${name} starts gpg to check a signature`;
  const table = SUBCOMMANDS[name]!;
  const parsed = parseOptions(rest, table);
  if (typeof parsed === "string") return `git ${name}: ${parsed} is not known to only read`;
  const { seen } = parsed;
  const isPattern = table.operands === "pattern" && !seen.has("-e") && !parsed.operands[0]?.glob;
  const operands = isPattern ? parsed.operands.slice(1) : parsed.operands;
  if (operands.length > 0) {
    if (table.operandsNeed && !table.operandsNeed.some((option) => seen.has(option)))
      return `git ${name} creates something`;
    if (Array.isArray(table.operands)) {
      const odd = operands.find((word) => !(table.operands as readonly string[]).includes(word.text));
      if (odd) return `git ${name} ${odd.text} is not known to only read`;
    }
  } else if (name === "stash" || name === "worktree") {
    return `git ${name} is not known to only read`;
  }
  return operandConcern(operands, { ...standpoint, cwd: here });
}

// --- internal ---

/** The person's own settings and the system's, which may put a password into the addresses of any repository. */
function sharedSettings(): string[] {
  return [...[".gitconfig", ".config/git/config"].map((name) => join(homedir(), name)), "/etc/gitconfig"];
}

/** A format or an order that depends on a signature. */
const CHECKS_SIGNATURE = /%[-+ ]?G|%\(\*?signature|^(--sort=)?-?\*?signature(:\w+)?$/;

/** Checks operands as paths. An operand is a revision, a path, `revision:path` or `:(magic)path`. */
function operandConcern(operands: readonly PlainWord[], standpoint: Standpoint): string | undefined {
  const paths = operands.flatMap(({ text, glob }) => {
    const texts = [text, text.slice(text.indexOf(":") + 1).replace(/^\([^)]*\)/, "")].filter((path) => path !== "");
    return [...new Set(texts)].map((path) => ({ text: path, glob }));
  });
  return pathsConcern(paths, standpoint);
}
