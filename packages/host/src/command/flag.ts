/** An option of a command, as a row, and the values that were typed for options. */
export interface Flag {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  /** The name of the value in the help text: `<port>`. A value in brackets, `[<id>]`, may be left out and is then the empty text. */
  readonly value?: string;
  readonly help: string;
}

export type Flags = Readonly<Record<string, Flag>>;
export type FlagValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
