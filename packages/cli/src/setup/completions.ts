/** `completions`: a script for the shell, made from the rows that also parse the command line. */
import { quoteWord } from "@chimera/acp-schema/text";
import { actionsOf, type Command, completeCommands, type Invocation, UsageError } from "@chimera/host";
import { printLines } from "../output.js";

export async function printCompletions(invocation: Invocation): Promise<number> {
  const { operands, profile, program } = invocation;
  const [shell = ""] = operands;
  const write = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
  if (!write) throw new UsageError(`name a shell: ${Object.keys(SHELLS).join(", ")}`);
  printLines(invocation, write(profile.name, (await completeCommands(program)).map(wordsOf)));
  return 0;
}

// --- internal ---

type Words = ReturnType<typeof wordsOf>;

function wordsOf(command: Command) {
  const { name, summary, flags } = command;
  const rows = Object.entries(flags).map(([flag, { short, help, type }]) => {
    return { name: flag, short, help, takes: type === "string" };
  });
  const help = { name: "help", short: "h", help: "Show this help", takes: false };
  return { name, summary, actions: actionsOf(command), flags: [...rows, help] };
}

const SHELLS: Readonly<Record<string, (program: string, all: readonly Words[]) => string[]>> = { bash, zsh, fish };

/** The command without a name must come last, because its pattern matches every other word. */
function bash(program: string, all: readonly Words[]): string[] {
  const cases = all.map(({ name, actions, flags }) => {
    const words = [...actions, ...flags.map((flag) => `--${flag.name}`)];
    if (name === "") words.push(...all.map((command) => command.name).filter(Boolean), "--version");
    return `    ${name === "" ? "*" : name}) words=${quoteWord(words.join(" "))} ;;`;
  });
  return [
    `_${program}() {`,
    // The second argument of a completion function is the word being typed.
    "  local words= command=",
    `  if [ "$COMP_CWORD" -gt 1 ]; then command=\${COMP_WORDS[1]}; fi`,
    '  case "$command" in',
    ...cases,
    "  esac",
    '  COMPREPLY=($(compgen -W "$words" -- "$2"))',
    "}",
    `complete -o default -F _${program} ${program}`,
  ];
}

function zsh(program: string, all: readonly Words[]): string[] {
  const commands = all.filter(({ name }) => name !== "");
  const spec = ({ name, help, takes }: Words["flags"][number]) =>
    quoteWord(`--${name}[${help.replace(/[[\]:]/g, " ")}]${takes ? ":value:_files" : ""}`);
  const cases = commands.map(({ name, actions, flags }) => {
    const first = actions.length > 0 ? ` ${quoteWord(`1:action:(${actions.join(" ")})`)}` : "";
    return `    ${name}) _arguments${first} ${flags.map(spec).join(" ")} '*:file:_files' ;;`;
  });
  const fallback = all.find(({ name }) => name === "");
  return [
    `#compdef ${program}`,
    `_${program}() {`,
    "  local -a commands",
    `  commands=(${commands.map(({ name, summary }) => quoteWord(`${name}:${summary.replaceAll(":", " ")}`)).join(" ")})`,
    "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then",
    `    _describe command commands`,
    "    return",
    "  fi",
    "  local command=$words[2]",
    "  case $command in",
    ...cases.map((line) => line.replace(") _arguments", ") shift words; (( CURRENT-- )); _arguments")),
    `    *) _arguments ${(fallback?.flags ?? []).map(spec).join(" ")} ;;`,
    "  esac",
    "}",
    `_${program} "$@"`,
  ];
}

function fish(program: string, all: readonly Words[]): string[] {
  return all.flatMap(({ name, summary, actions, flags }) => {
    const when = name === "" ? "__fish_use_subcommand" : `__fish_seen_subcommand_from ${name}`;
    const start = `complete -c ${program} -n ${quoteWord(when)}`;
    return [
      ...(name === "" ? [] : [`complete -c ${program} -n __fish_use_subcommand -a ${name} -d ${quoteWord(summary)}`]),
      ...actions.map((action) => `${start} -a ${action}`),
      ...flags.map(
        ({ name: flag, short, help, takes }) =>
          `${start} -l ${flag}${short ? ` -s ${short}` : ""}${takes ? " -r" : ""} -d ${quoteWord(help)}`,
      ),
    ];
  });
}
