/** An option of a command, as a row; and what was typed for it. */
export interface Flag {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  /** What the value is, in the help text: `<port>`. In brackets, `[<id>]`, it may be left out, and then is the empty text. */
  readonly value?: string;
  readonly help: string;
}

export type Flags = Readonly<Record<string, Flag>>;
export type FlagValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
