/** A transcript is a list of blocks. A reader sees each block as one thing. */
export type Block =
  | { readonly kind: "prompt"; readonly text: string; readonly origin: string | null }
  | { readonly kind: "answer"; readonly text: string }
  | { readonly kind: "thought"; readonly text: string }
  | ToolBlock
  | { readonly kind: "edit"; readonly diff: FileDiff }
  | { readonly kind: "plan"; readonly entries: readonly { readonly content: string; readonly status: string }[] }
  | { readonly kind: "note"; readonly type: string; readonly level: NoteLevel; readonly text: string }
  | { readonly kind: "end"; readonly outcome: TurnOutcome; readonly facts: readonly string[]; readonly error: string }
  | { readonly kind: "other"; readonly type: string; readonly metadata: unknown };

export type NoteLevel = "info" | "warning" | "error";
export type TurnOutcome = "done" | "failed" | "cancelled";

export interface ToolBlock {
  readonly kind: "tool";
  readonly tool: string;
  /** The call's title without the tool's name; may be empty. */
  readonly title: string;
  readonly args: unknown;
  readonly status: "ok" | "failed" | "unfinished";
  readonly output: string;
  readonly error: string;
  readonly durationMs: number | null;
  /** How it was permitted or denied; empty without a question. */
  readonly permission: string;
  readonly diffs: readonly FileDiff[];
  /** The work of another agent below the call. */
  readonly inside: readonly Block[];
}

/** A change of a file as lines, each with `+`, `-`, `@` or a space in front. */
export interface FileDiff {
  readonly path: string;
  readonly lines: readonly string[];
}
