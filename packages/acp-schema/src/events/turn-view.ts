/** A turn as the fold of a log shows it. */
import type { Message } from "./message.js";
import type { Metadata } from "./metadata.js";
import type { StopReason } from "./value.js";

export interface TurnView {
  readonly number: number;
  /** The number of the record of its prompt. */
  readonly seq: number;
  readonly prompt: { readonly text: string; readonly content?: readonly { readonly type: string }[] };
  /** The sender's key for the prompt; null without one. */
  readonly key: string | null;
  /** The agent that clients had chosen when the prompt was accepted; null for none. */
  readonly agent: string | null;
  /** The times of its prompt and its end, if the records have times. */
  readonly createdAt: string | null;
  endedAt: string | null;
  started: boolean;
  ended: boolean;
  undone: boolean;
  /** Whether its file changes are undone: with the turn itself, or with the turn before if it took no step. */
  filesUndone: boolean;
  /** Whether it was undone when a later turn took its first step, so that it cannot be redone. */
  cutOff: boolean;
  /** How many model steps it took. The model does not see a turn without steps, such as a slash command. */
  steps: number;
  /** Whether it summarised the earlier conversation. It can then be undone even if it took no step. */
  compacted: boolean;
  /** The files that its calls edited, as far as they said so. */
  readonly edited: Set<string>;
  stopReason: StopReason | null;
  /** The result of the turn; null until it has ended. */
  result: TurnResult | null;
  failure: { readonly name: string; readonly message: string } | null;
  /** The tokens of this turn only. */
  readonly usage: TurnUsage;
  readonly messages: Message[];
}

export interface TurnResult {
  readonly output: string;
  readonly success: boolean;
  readonly cancelled: boolean;
  readonly error: string | null;
  readonly steps: number;
  readonly cost: number;
}

export type SessionUsage = Metadata<"usage">;
export type TurnUsage = Pick<SessionUsage, "input" | "output" | "cache" | "reasoning">;
