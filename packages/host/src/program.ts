/** A program as a value: what makes it different from the others, and all that can be typed. */
import type { Command } from "./command/command.js";
import { flagsOf } from "./config/flags.js";
import type { Profile } from "./profile.js";

export interface Program {
  readonly profile: Profile;
  readonly commands: readonly Command[];
  /** Runs when no command is named: nothing was typed, or options come first, as in `otter -p PROMPT`. Help otherwise. */
  readonly fallback?: Command;
}

/** A command with the flags of the program's extensions, where it takes them. */
export function completeCommand({ settings, flags }: Profile, row: Command): Command {
  return row.startsSessions ? { ...row, flags: { ...row.flags, ...flagsOf(settings), ...flags } } : row;
}

/** Every command, complete; the one without a name comes last. */
export function completeCommands({ profile, commands, fallback }: Program): Command[] {
  return [...commands, ...(fallback ? [fallback] : [])].map((row) => completeCommand(profile, row));
}
