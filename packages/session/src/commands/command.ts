/** A custom slash command: a Markdown file whose body is a prompt with placeholders. */
export interface CommandArg {
  readonly name: string;
  readonly description: string;
}

export interface CustomCommand {
  readonly name: string;
  readonly description: string;
  readonly args: readonly CommandArg[];
  readonly body: string;
  /** The absolute path it came from, shown to people: a cloned project may shadow a command of theirs. */
  readonly source: string;
}
