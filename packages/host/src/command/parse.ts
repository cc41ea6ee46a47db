/** Parses argv into flags and operands of a command. An unknown option is a usage error that names the nearest known one. */
import { parseArgs } from "node:util";
import type { Command } from "./command.js";
import type { Flags, FlagValues } from "./flag.js";
import { nearest, UsageError } from "./usage-error.js";

export const COMMON_FLAGS: Flags = { help: { type: "boolean", short: "h", help: "Show this help" } };

export function parseCommand(command: Command, argv: readonly string[]) {
  const flags = { ...command.flags, ...COMMON_FLAGS };
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short && { short }), ...(multiple && { multiple }) },
    ]),
  );
  try {
    const args = argv.map((word, at) => (isBare(flags, word, argv[at + 1]) ? `${word}=` : word));
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
    const extra = positionals[command.maxOperands ?? 0];
    if (extra !== undefined) throw new UsageError(`unexpected argument ${quote(extra)}`);
    return { flags: values as FlagValues, operands: positionals };
  } catch (error) {
    throw explain(error, command, flags);
  }
}

// --- internal ---

/** True for a flag whose value is optional (in brackets in its row) when no value follows. */
function isBare(flags: Flags, word: string, next: string | undefined): boolean {
  const flag = word.startsWith("--") ? flags[word.slice(2)] : undefined;
  return flag?.value?.startsWith("[") === true && (next === undefined || next.startsWith("-"));
}

function explain(error: unknown, command: Command, flags: Flags): unknown {
  const { code, message } = error as { code?: string; message: string };
  const typed = /'(?:-\w, )?(-[^' ]*)/.exec(message)?.[1] ?? "option";
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
    const word = typed.replace(/^-+/, "");
    const actions = (command.operands ?? "").replace(/<[^>]*>/g, "").split(/[^\w-]+/);
    const near = nearest(word, Object.keys(flags));
    const meant = actions.includes(word) ? `${command.name} ${word}` : near && `--${near}`;
    return new UsageError(`unknown option ${typed}; ${meant ? `did you mean ${meant}?` : "--help lists them"}`);
  }
  if (code !== "ERR_PARSE_ARGS_INVALID_OPTION_VALUE") return error;
  const row = Object.entries(flags).find(([name, { short }]) => [`--${name}`, `-${short}`].includes(typed));
  if (row?.[1].type !== "string") return new UsageError(`${typed} takes no value`);
  const [name, { value }] = row;
  const dashed = message.includes("ambiguous") ? `; one that begins with a dash is written --${name}=-…` : "";
  return new UsageError(`--${name} needs a value: --${name} ${value}${dashed}`);
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
