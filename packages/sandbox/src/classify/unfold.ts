import { basename } from "node:path";
import { words } from "../words.js";
import { type FoundCommand, type FoundScript, readScript } from "./script.js";

/** A command that a script runs directly, or through a wrapper, a shell string, `find -exec` or the like. */
export interface Invocation {
  readonly argv: readonly (string | undefined)[];
  readonly writes: readonly (string | undefined)[];
}

export interface Unfolded {
  readonly invocations: readonly Invocation[];
  /** Whether some nested text did not parse or was too much to follow. */
  readonly unclear: boolean;
  readonly multiplies: boolean;
}

const MAX_DEPTH = 8;
const MAX_INVOCATIONS = 400;
const MAX_WRAPPED_WORDS = 64;

/** Programs that run the rest of their command line. Every suffix is checked, so the start of the inner command need not be known. */
const WRAPPERS = new Set(
  words(`
    builtin busybox bwrap chroot chrt command coproc corepack dbus-run-session direnv doas entr env exec
    faketime fd find firejail flock ionice linux32 linux64 ltrace nice nohup npm npx nsenter parallel pkexec
    pnpm prlimit proot rlwrap run0 runuser screen script setarch setpriv setsid ssh stdbuf strace su sudo
    systemd-run taskset time timeout tmux toybox unbuffer unshare watch xargs xvfb-run yarn
  `),
);

/** Programs that run shell text from an argument or from standard input. */
const SHELLS = new Set(
  words(`
    ash at bash batch busybox csh dash env eval fish flock ksh mksh nix-shell npm npx parallel screen script sh source
    ssh su tcsh tmux toybox trap watch xargs zsh .
  `),
);

/** Finds everything that a script would start, so that a prefix cannot evade a rule. */
export function unfold(script: FoundScript): Unfolded {
  const invocations: Invocation[] = [];
  let unclear = false;
  let multiplies = script.multiplies;

  const follow = (command: FoundCommand, depth: number): void => {
    if (depth > MAX_DEPTH || invocations.length > MAX_INVOCATIONS) {
      unclear = true;
      return;
    }
    invocations.push({ argv: command.argv, writes: command.writes });
    const name = programName(command.argv[0]);
    const wraps = WRAPPERS.has(name);
    if (wraps && command.argv.length > MAX_WRAPPED_WORDS) unclear = true;
    const wrapped = wraps ? command.argv.slice(0, MAX_WRAPPED_WORDS) : command.argv;
    for (let start = 0; start < (wraps ? wrapped.length : 1); start += 1) {
      // After `npm run` comes the name of a script, which may be `reboot`.
      if (/^run(-script)?$/.test(wrapped[start - 1] ?? "") && /^(npm|pnpm|yarn)$/.test(name)) break;
      const argv = wrapped.slice(start);
      if (start > 0) invocations.push({ argv, writes: [] });
      if (SHELLS.has(programName(argv[0]))) {
        for (const text of shellTexts(argv, command.input)) followText(text, depth + 1);
      }
    }
    if (name === "xargs" && command.input !== undefined)
      follow({ argv: [...command.argv.slice(1), ...command.input.split(/\s+/)], writes: [] }, depth + 1);
    if (name === "git") for (const text of gitTexts(command.argv)) followText(text, depth + 1);
    for (const word of command.argv) {
      const [, shell, alias] = (word === undefined ? null : /^alias\.[^=]*=(!?)(.*)$/s.exec(word)) ?? [];
      if (alias !== undefined) followText(shell ? alias : `git ${alias}`, depth + 1);
    }
  };
  const followText = (text: string, depth: number): void => {
    const inner = readScript(text);
    if (!inner) {
      unclear = true;
      return;
    }
    multiplies ||= inner.multiplies;
    for (const command of inner.commands) follow(command, depth);
  };
  for (const command of script.commands) follow(command, 0);
  return { invocations, unclear, multiplies };
}

/** The name of a program without its path, because a rule for `git` also applies to `/usr/bin/git`. */
export function programName(word: string | undefined): string {
  return word === undefined ? "" : basename(word);
}

// --- internal ---

function shellTexts(argv: readonly (string | undefined)[], input: string | undefined): string[] {
  const known = argv.slice(1).filter((word): word is string => word !== undefined);
  // `env -S'git push'` and `--split-string=git push` attach the text to the option.
  const texts = known.filter((word) => /\s/.test(word)).map((word) => word.replace(/^-(-[\w-]+=|[A-Za-z])/, ""));
  const joined = known.filter((word) => !word.startsWith("-")).join(" ");
  const whole = programName(argv[0]) === "eval" ? [known.join(" ")] : [];
  return [...new Set([...texts, joined, ...whole, ...(input === undefined ? [] : [input])])].filter(
    (text) => text.trim() !== "",
  );
}

/** The commands that git is asked to run, as in `git submodule foreach ls`, `git bisect run make` and `git rebase --exec make`. */
function gitTexts(argv: readonly (string | undefined)[]): string[] {
  const known = argv.map((word) => word ?? "");
  const verb = known.findIndex((word, at) => ["submodule foreach", "bisect run"].includes(`${known[at - 1]} ${word}`));
  const rest =
    verb < 0
      ? []
      : [
          known
            .slice(verb + 1)
            .join(" ")
            .replace(/^(?:--\w+ )+/, ""),
        ];
  const given = known.flatMap(
    (word, at) => /^--(?:exec|extcmd)=(.*)$/s.exec(word)?.[1] ?? (RUN_BY.has(known[at - 1] ?? "") ? word : []),
  );
  return [...rest, ...(known.some((word) => word === "rebase" || word === "difftool") ? given : [])];
}

/** Options of `git rebase` and `git difftool` whose value is a command. */
const RUN_BY: ReadonlySet<string> = new Set(["-x", "--exec", "--extcmd"]);
