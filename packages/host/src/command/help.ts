/** The help texts, made from the same rows that parse the flags. Loaded on demand. */
import type { Profile } from "../profile.js";
import { type Command, completeCommand, type Program, wholeProgram } from "./command.js";
import type { Flags } from "./flag.js";
import { COMMON_FLAGS } from "./parse.js";

export function programHelp({ profile, commands, fallback: row }: Program, calledAs: string): string {
  const fallback = row && completeCommand(profile, row);
  const width = Math.max(...commands.map((command) => command.name.length)) + 2;
  const rows = commands.map((command) => `  ${command.name.padEnd(width)}${command.summary}`);
  return [
    `${profile.name} ${profile.version}: ${profile.tagline}`,
    "",
    ...(fallback ? [`Usage: ${calledAs} [options]   ${fallback.summary}`] : []),
    `${fallback ? "      " : "Usage:"} ${calledAs} <command> [options]`,
    "",
    "Commands:",
    ...rows,
    "",
    "Options:",
    ...describeFlags({ ...fallback?.flags, ...PROGRAM_FLAGS }),
    ...(fallback ? ["", exampleOf(profile, fallback, calledAs)] : []),
    "",
  ].join("\n");
}

export function commandHelp(profile: Profile, command: Command, calledAs: string): string {
  const words = [calledAs, command.name, command.operands, "[options]"].filter(Boolean);
  return [
    command.summary,
    "",
    `Usage: ${words.join(" ")}`,
    "",
    "Options:",
    ...describeFlags({ ...command.flags, ...COMMON_FLAGS }),
    "",
    exampleOf(profile, command, calledAs),
    "",
  ].join("\n");
}

/** Every command of a program; the one without a name comes last. */
export async function completeCommands(program: Program): Promise<Command[]> {
  const { profile, commands, fallback } = await wholeProgram(program);
  return [...commands, ...(fallback ? [fallback] : [])].map((row) => completeCommand(profile, row));
}

// --- internal ---

/** A row's example begins with the program's name; the shown one begins as the program was called, so that it can be pasted. */
function exampleOf({ name }: Profile, { example }: Command, calledAs: string): string {
  return `Example: ${example.startsWith(`${name} `) ? calledAs + example.slice(name.length) : example}`;
}

const PROGRAM_FLAGS: Flags = {
  help: { type: "boolean", short: "h", help: "Show this help, or a command's: <command> --help" },
  version: { type: "boolean", short: "V", help: "Show the version" },
};

function describeFlags(flags: Flags): string[] {
  const rows = Object.entries(flags).map(([name, { short, value, help }]) => ({
    head: `  ${short ? `-${short}, ` : "    "}--${name}${value ? ` ${value}` : ""}`,
    help,
  }));
  const width = Math.max(...rows.map(({ head }) => head.length)) + 2;
  return rows.map(({ head, help }) => `${head.padEnd(width)}${help}`);
}
