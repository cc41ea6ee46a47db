import { forEachChild, parse, type SyntaxNode, type Word } from "unbash";
import { tried } from "../confine/paths.js";
import { words } from "../words.js";

/** A simple command anywhere in a script. A word that only the running shell knows is undefined. */
export interface FoundCommand {
  readonly argv: readonly (string | undefined)[];
  /** Files it writes by redirection. */
  readonly writes: readonly (string | undefined)[];
  /** Text that the script passes to its standard input. */
  readonly input?: string;
}

export interface FoundScript {
  readonly commands: readonly FoundCommand[];
  /** The simple commands in order, if the script has only lists and pipes of literal words; otherwise undefined. */
  readonly plain: readonly (readonly string[])[] | undefined;
  /** Why the script is not plain. */
  readonly obstacle: string | undefined;
  /** Whether a function starts itself twice, as in a fork bomb. */
  readonly multiplies: boolean;
}

/** All commands that a script would run, as far as the text shows; undefined when it does not parse. */
export function readScript(source: string): FoundScript | undefined {
  const script = tried(() => parse(source));
  if (!script) return undefined;
  const found: FoundCommand[] = [];
  const fed: FoundCommand[] = [];
  const variables = new Map<string, string>();
  let failed = (script.errors?.length ?? 0) > 0;
  let obstacle: string | undefined;
  let multiplies = false;
  const visit = (node: SyntaxNode): void => {
    if ("errors" in node && (node.errors?.length ?? 0) > 0) failed = true;
    if (!isPlainNode(node)) obstacle ??= OBSTACLES[node.type] ?? node.type;
    if (node.type === "Function") multiplies ||= callsItself(node.name.value, node);
    if (node.type === "Pipeline") fed.push(...pipedInput(node.commands, variables));
    if (node.type === "Command") {
      for (const prefix of node.prefix) {
        if (prefix.type === "Assignment" && prefix.value.type === "Word") {
          const value = literal(prefix.value, variables);
          if (value !== undefined) variables.set(prefix.name, value);
        }
      }
      const command = foundCommand(node, variables);
      found.push(command);
      rememberPositional(command.argv, variables);
    }
    forEachChild(node, visit);
  };
  if (!tried(() => visit(script) ?? true) || failed) return undefined;
  const plain = obstacle === undefined ? found.map((command) => command.argv as readonly string[]) : undefined;
  return { commands: [...found, ...fed], plain, obstacle, multiplies };
}

// --- internal ---

type CommandNode = Extract<SyntaxNode, { type: "Command" }>;

/** The syntax allowed in a read. Every other node type, known or future, is an obstacle. */
const PLAIN_NODES = new Set(
  words(`
    Script Statement AndOr Pipeline Negation Command Word
    Literal Glob SingleQuoted DoubleQuoted Redirect FileDescriptor
  `),
);

const OBSTACLES: Readonly<Record<string, string>> = {
  AnsiCQuoted: "$'…' hides characters",
  ArithmeticCommand: "arithmetic can run commands",
  ArithmeticExpansion: "arithmetic can run commands",
  Assignment: "a variable is set",
  BraceExpansion: "braces make words",
  CommandExpansion: "a command substitution runs another command",
  Function: "a function is defined",
  HereDoc: "a here-document",
  HereString: "a here-string",
  ParameterExpansion: "a variable decides what runs",
  ProcessSubstitution: "a process substitution runs another command",
  SimpleExpansion: "a variable decides what runs",
  Statement: "it continues in the background",
  TestCommand: "[[ … ]] can run commands",
};

function isPlainNode(node: SyntaxNode): boolean {
  if (node.type === "SimpleExpansion") return node.text === "$?";
  return PLAIN_NODES.has(node.type) && !(node.type === "Statement" && node.background);
}

/** Remembers `set -- words`, after which `"$@"` is a command. */
function rememberPositional(argv: FoundCommand["argv"], variables: Map<string, string>): void {
  if (argv[0] !== "set" || argv[1] !== "--" || argv.includes(undefined)) return;
  for (const name of ["@", "*"]) variables.set(name, argv.slice(2).join(" "));
}

function foundCommand(node: CommandNode, variables: ReadonlyMap<string, string>): FoundCommand {
  const argv: (string | undefined)[] = [];
  for (const word of [node.name, ...node.args]) {
    if (!word) continue;
    if (word.type === "Assignment") argv.push(word.text);
    else argv.push(...expand(word, variables));
  }
  const writes: (string | undefined)[] = [];
  let input: string | undefined;
  for (const redirect of node.redirects) {
    if (redirect.type === "HereDoc") input = redirect.body.text;
    else if (redirect.type === "HereString") input = redirect.target && literal(redirect.target, variables);
    else if (redirect.operator !== "<" && redirect.operator !== "<&") {
      writes.push(redirect.target && literal(redirect.target, variables));
    }
  }
  return { argv, writes, ...(input === undefined ? {} : { input }) };
}

/** The words that a word expands to: braces and known unquoted variables split it. */
function expand(word: Word, variables: ReadonlyMap<string, string>): (string | undefined)[] {
  const [, before = "", choices, after = ""] =
    /^([^{}$`'"\\]*)\{([^{}$`'"\\]*,[^{}$`'"\\]*)\}([^{}$`'"\\]*)$/.exec(word.text) ?? [];
  if (choices !== undefined) return choices.split(",").map((choice) => before + choice + after);
  const value = literal(word, variables);
  const splits =
    word.text === '"$@"' ||
    word.parts?.some((part) => part.type === "SimpleExpansion" || part.type === "ParameterExpansion");
  return value !== undefined && splits ? value.split(/\s+/).filter((part) => part !== "") : [value];
}

/** A word's value if it follows from the text. Globs count as text, and known variables as their value. */
function literal(word: Word, variables: ReadonlyMap<string, string>): string | undefined {
  if (!word.parts) return word.value;
  let text = "";
  const add = (part: SyntaxNode): boolean => {
    switch (part.type) {
      case "Literal":
      case "Glob":
      case "SingleQuoted":
      case "AnsiCQuoted":
        text += part.value;
        return true;
      case "DoubleQuoted":
      case "LocaleString":
        return part.parts.every(add);
      case "SimpleExpansion":
      case "ParameterExpansion": {
        const [, name = "", standard] = /^\$\{?([A-Za-z_]\w*|[@*])(?::?[-=]([^$`}]*))?\}?$/.exec(part.text) ?? [];
        const known = variables.get(name) ?? standard;
        // Keep the variable's text, because typical catastrophes contain a variable such as $HOME.
        text += known ?? part.text;
        return known !== undefined || part.text === "$?" || /^\$(?:HOME$|\{HOME\b)/.test(part.text);
      }
      default:
        return false;
    }
  };
  return word.parts.every(add) ? text : undefined;
}

/** `echo text | sh`, and `cat <<END | sh`: the text that a shell in a pipe would read. */
function pipedInput(nodes: readonly SyntaxNode[], variables: ReadonlyMap<string, string>): FoundCommand[] {
  return nodes.slice(1).flatMap((node, index) => {
    const before = nodes[index];
    if (node.type !== "Command" || before?.type !== "Command") return [];
    const feeding = foundCommand(before, variables);
    const [name, ...words] = feeding.argv;
    const printed = words.filter((word) => word !== undefined && !/^-[neE]+$|^%[a-z]/.test(word)).join(" ");
    const input =
      name === "cat"
        ? feeding.input
        : name === "echo" || name === "printf"
          ? printed.replaceAll("\\n", "\n")
          : undefined;
    return input === undefined ? [] : [{ argv: foundCommand(node, variables).argv, writes: [], input }];
  });
}

function callsItself(name: string, definition: SyntaxNode): boolean {
  let calls = 0;
  let background = false;
  const visit = (node: SyntaxNode): void => {
    if (node.type === "Command" && node.name?.value === name) calls += 1;
    if (node.type === "Statement" && node.background) background = true;
    forEachChild(node, visit);
  };
  forEachChild(definition, visit);
  return calls > 1 || (calls > 0 && background);
}
