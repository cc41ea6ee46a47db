/** A conversation as a model sees it: what `fold(log)` yields and what an agent is given. */
import type { PromptBlock, Seal } from "./value.js";

/** What a model said, in one piece. */
export interface TextPart {
  readonly type: "text";
  readonly text: string;
  readonly seal?: Seal;
}

/** What a model thought before it said or did something. */
export interface ReasoningPart {
  readonly type: "reasoning";
  readonly text: string;
  readonly seal?: Seal;
}

/** A tool that a model called. */
export interface CallPart {
  readonly type: "call";
  readonly id: string;
  readonly name: string;
  readonly args: Record<string, unknown>;
  readonly seal?: Seal;
}

/** One piece of a reply. A provider gets a part back where it stood, with its seal. */
export type Part = TextPart | ReasoningPart | CallPart;

export type Message =
  | { readonly role: "user"; readonly text: string; readonly content?: readonly PromptBlock[] }
  /** A model's reply, its parts in the order in which they came. */
  | { readonly role: "assistant"; readonly parts: readonly Part[] }
  | {
      readonly role: "tool";
      readonly id: string;
      readonly name: string;
      readonly output: string;
      readonly success: boolean;
    }
  | { readonly role: "summary"; readonly text: string };
