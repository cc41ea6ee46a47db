/** argv -> flags and operands of a command; anything unknown is a usage error that names the nearest known thing. */
import { parseArgs } from "node:util";
import type { Command } from "./command.js";
import type { Flags, FlagValues } from "./flag.js";
import { nearest } from "./nearest.js";
import { UsageError } from "./usage-error.js";

export interface Parsed {
  readonly flags: FlagValues;
  readonly operands: readonly string[];
}

export const COMMON_FLAGS: Flags = { help: { type: "boolean", short: "h", help: "Show this help" } };

export function parseCommand(program: string, command: Command, argv: readonly string[]): Parsed {
  const flags = { ...command.flags, ...COMMON_FLAGS };
  const where = command.name ? `${program} ${command.name}` : program;
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short && { short }), ...(multiple && { multiple }) },
    ]),
  );
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
    const extra = positionals[command.maxOperands ?? 0];
    if (extra !== undefined) throw new UsageError(`${where}: unexpected argument ${quote(extra)}`);
    return { flags: values as FlagValues, operands: positionals };
  } catch (error) {
    throw explain(where, error, Object.keys(flags));
  }
}

// --- internal ---

function explain(where: string, error: unknown, known: readonly string[]): unknown {
  const { code, message } = error as { code?: string; message: string };
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
    const flag = /'(-[^' ]*)/.exec(message)?.[1] ?? "option";
    const close = nearest(flag.replace(/^-+/, ""), known);
    return new UsageError(`${where}: unknown option ${flag}${close ? `; did you mean --${close}?` : ""}`);
  }
  if (code?.startsWith("ERR_PARSE_ARGS")) return new UsageError(`${where}: ${message.split("\n", 1)[0]}`);
  return error;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
