/**
 * Which commands are alike: the first words of a plain command, where the program is one whose subcommands people mean by name. Programs that
 * run what they are given (shells, interpreters, `sudo`, `xargs`) and those that write any file they are given have no prefix.
 */
import { commandWords } from "./rule.js";

/** Null where allowing what begins alike would allow anything. */
export function prefixOf(command: string): readonly string[] | null {
  const words = commandWords(command);
  const program = words?.[0] ?? "";
  if (!words || !Object.hasOwn(WORDS, program)) return null;
  const named = words.slice(0, SCRIPTS.test(words.slice(0, 2).join(" ")) ? 3 : WORDS[program]);
  const isWhole = named.length === Math.max(WORDS[program]!, named.length);
  // An option may name another directory or another program to run.
  return isWhole && named.slice(1).every((word) => /^[A-Za-z][\w:.-]*$/.test(word)) && !RUNS_ANY.test(named.join(" "))
    ? named
    : null;
}

// --- internal ---

/** Program -> how many words say what it does. */
const WORDS: Readonly<Record<string, number>> = {
  biome: 2,
  cargo: 2,
  dotnet: 2,
  eslint: 1,
  git: 2,
  go: 2,
  gradle: 2,
  jest: 1,
  mvn: 2,
  mypy: 1,
  npm: 2,
  npx: 2,
  pnpm: 2,
  pytest: 1,
  ruff: 2,
  tsc: 1,
  vitest: 1,
  yarn: 2,
};
const SCRIPTS = /^(?:npm|pnpm|yarn) run$/;
/** Subcommands that run whatever follows, or change what later commands do. */
const RUNS_ANY =
  /^(?:(?:npm|pnpm|yarn) (?:exec|x|dlx|run|explore|config|set|create|init|node)|git (?:config|bisect|filter-branch|submodule|rebase|difftool|mergetool|hook|worktree|credential|send-email|daemon|clone|remote|push)|npx (?:node|sh|bash|zsh|tsx|ts-node|shx|cross-env|env|sudo|npx|npm)|go (?:run|generate|tool|env)|cargo (?:run|install|config)|dotnet (?:run|exec|tool)|biome lsp-proxy)$/;
