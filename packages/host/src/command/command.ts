/** A subcommand is a row: what it is called, what it takes, and where its code is, loaded when it is used. */
import type { Profile } from "../profile.js";
import type { Flags, FlagValues } from "./flag.js";

export interface Command {
  /** What is typed; empty for the command that runs when none is named. */
  readonly name: string;
  readonly summary: string;
  /** Words after the name, for the usage line: `[status | stop]`. */
  readonly operands?: string;
  readonly flags: Flags;
  /** It starts sessions, so it also takes the flags of the program's extensions. */
  readonly startsSessions?: boolean;
  readonly example: string;
  /** How many operands it takes at most. @defaultValue 0 */
  readonly maxOperands?: number;
  load(): Promise<RunCommand>;
}

/** A program as a value: what makes it different from the others, and all that can be typed. */
export interface Program {
  readonly profile: Profile;
  readonly commands: readonly Command[];
  /** What else can be typed. It is loaded when the first word is none of `commands`, so that a server starts without it. */
  readonly others?: () => Promise<Pick<Program, "commands" | "fallback">>;
  /** Runs when no command is named: nothing was typed, or options come first, as in `otter -p PROMPT`. Help otherwise. */
  readonly fallback?: Command;
}

export type RunCommand = (invocation: Invocation) => Promise<number>;

/** One call of a command. Commands reach the process (streams, environment, exit) only through this. */
export interface Invocation {
  readonly program: Program;
  readonly profile: Profile;
  /** How a person calls the program: `otter`, or `chimera otter`. */
  readonly calledAs: string;
  /** What was called, as every complaint begins: `otter serve`. */
  readonly where: string;
  readonly flags: FlagValues;
  readonly operands: readonly string[];
  readonly process: NodeJS.Process;
}

/** The program with every command that can be typed. */
export async function wholeProgram({ others, ...program }: Program): Promise<Program> {
  const more = await others?.();
  return more ? { ...program, ...more, commands: [...program.commands, ...more.commands] } : program;
}
