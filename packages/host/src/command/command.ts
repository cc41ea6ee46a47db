/** A subcommand is a row: what it is called, what it takes, and where its code is, loaded when it is used. */
import type { Profile } from "../profile.js";

export interface Flag {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  /** What the value is, in the help text: `<port>`. */
  readonly value?: string;
  readonly help: string;
}

export type Flags = Readonly<Record<string, Flag>>;
export type FlagValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export interface Command {
  /** What is typed; empty for the command that runs when none is named. */
  readonly name: string;
  readonly summary: string;
  /** Words after the name, for the usage line: `[status | stop]`. */
  readonly operands?: string;
  readonly flags: Flags;
  readonly example: string;
  /** How many operands it takes at most. @defaultValue 0 */
  readonly maxOperands?: number;
  load(): Promise<Run>;
}

export type Run = (invocation: Invocation) => Promise<number>;

/** One call of a command. The only doors to the process are here. */
export interface Invocation {
  readonly profile: Profile;
  readonly flags: FlagValues;
  readonly operands: readonly string[];
  readonly process: NodeJS.Process;
}
