/** Commands with the flags of the program's extensions, where they take them. */
import { flagsOf } from "../config/flags.js";
import type { Profile } from "../profile.js";
import type { Command, Program } from "./command.js";

export function completeCommand({ settings, flags }: Profile, row: Command): Command {
  return row.startsSessions ? { ...row, flags: { ...row.flags, ...flagsOf(settings), ...flags } } : row;
}

/** Every command of a program; the one without a name comes last. */
export function completeCommands({ profile, commands, fallback }: Program): Command[] {
  return [...commands, ...(fallback ? [fallback] : [])].map((row) => completeCommand(profile, row));
}
