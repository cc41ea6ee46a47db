/** Where a conversation is shown and typed: lines that stay, and one line at the bottom that does not. */
export type ScreenState =
  /** The person may type a prompt. */
  | { readonly kind: "ready" }
  /** Something runs; what is typed meanwhile is kept, or sent when it is a whole line. */
  | { readonly kind: "busy"; readonly label: string }
  /** A question stands above; what is typed answers it. */
  | { readonly kind: "asking"; readonly choices: string };

export interface Screen {
  /** Whole lines; the text ends with a newline. */
  print(text: string): void;
  show(state: ScreenState): void;
  /** Gives the terminal back as it was. */
  close(): void;
}

export interface ScreenEvents {
  /** One entry: a line, or several that were pasted together. */
  onEntry(text: string): void;
  /** Ctrl-C with nothing typed. */
  onInterrupt(): void;
  /** No more input: Ctrl-D, a closed pipe, a terminal that went away. */
  onEnd(): void;
}
