/** A subcommand is a row: its name, its flags and operands, and how to load its code, which happens on use. */
import { flagsOf } from "../config/flags.js";
import type { Profile } from "../profile.js";
import type { Flags, FlagValues } from "./flag.js";

export interface Command {
  /** The word to type; empty for the command that runs when none is named. */
  readonly name: string;
  readonly summary: string;
  /** Words after the name, for the usage line: actions as they are typed, in angle brackets what a person puts in: `[list | show <id>]`. */
  readonly operands?: string;
  readonly flags: Flags;
  /** True when the command starts sessions, so that it also takes the flags of the program's extensions. */
  readonly startsSessions?: boolean;
  readonly example: string;
  /** The most operands it takes. @defaultValue 0 */
  readonly maxOperands?: number;
  load(): Promise<RunCommand>;
}

/** A program as a value: its profile, which makes it different from the others, and its commands. */
export interface Program {
  readonly profile: Profile;
  readonly commands: readonly Command[];
  /** The other commands. They are loaded when the first word is not one of `commands`, so that a server starts without them. */
  readonly others?: () => Promise<Pick<Program, "commands" | "fallback">>;
  /** Runs when no command is named: without arguments, or when options come first, as in `otter -p PROMPT`. @defaultValue help */
  readonly fallback?: Command;
}

export type RunCommand = (invocation: Invocation) => Promise<number>;

/** One call of a command. Commands reach the process (streams, environment, exit) only through this. */
export interface Invocation {
  readonly program: Program;
  readonly profile: Profile;
  /** How a person calls the program: `otter`, or `chimera otter`. */
  readonly calledAs: string;
  /** The program and command as typed, with which every error message begins: `otter serve`. */
  readonly where: string;
  readonly flags: FlagValues;
  readonly operands: readonly string[];
  readonly process: NodeJS.Process;
}

/** The program with all of its commands loaded. */
export async function wholeProgram({ others, ...program }: Program): Promise<Program> {
  const more = await others?.();
  return more ? { ...program, ...more, commands: [...program.commands, ...more.commands] } : program;
}

/** The words of `operands` that are typed as they are, as `list` and `show` of `[list | show <id>]`. */
export function actionsOf({ operands = "" }: Command): string[] {
  const choices = operands.replace(/<[^>]*>|[[\]]/g, "").split("|");
  return choices.flatMap((choice) => /^\s*([a-z]+)\b/.exec(choice)?.[1] ?? []);
}

/** A command with the flags of the program's extensions, if it starts sessions. */
export function completeCommand({ settings, flags }: Profile, row: Command): Command {
  return row.startsSessions ? { ...row, flags: { ...row.flags, ...flagsOf(settings), ...flags } } : row;
}
