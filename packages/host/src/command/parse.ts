/** Parses argv into flags and operands of a command. */
import { parseArgs } from "node:util";
import type { Command } from "./command.js";
import type { Flags, FlagValues } from "./flag.js";
import { UsageError } from "./usage-error.js";

export const COMMON_FLAGS: Flags = { help: { type: "boolean", short: "h", help: "Show this help" } };

/** @param others names of commands, which this one does not take as operands: a person typed options before them */
export async function parseCommand(command: Command, argv: readonly string[], others: readonly string[] = []) {
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
    const [first = ""] = positionals;
    // After `--` a word means only itself.
    const literal = args.length - 1 - [...args, "--"].indexOf("--");
    if (positionals.length > literal && others.includes(first))
      throw new UsageError(`the command ${first} comes before its options`);
    const extra = positionals[command.maxOperands ?? 0];
    if (extra !== undefined) throw new UsageError(`unexpected argument ${quote(extra)}`);
    return { flags: values as FlagValues, operands: positionals };
  } catch (error) {
    // Loaded for a mistake alone, which no start makes.
    const { explain } = await import("./explain.js");
    throw explain(error, command, flags);
  }
}

// --- internal ---

/** True for a flag whose value is optional (in brackets in its row) when no value follows. */
function isBare(flags: Flags, word: string, next: string | undefined): boolean {
  const flag = word.startsWith("--") ? flags[word.slice(2)] : undefined;
  return flag?.value?.startsWith("[") === true && (next === undefined || next.startsWith("-"));
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
