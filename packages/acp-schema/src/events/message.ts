/** The conversation for a model: the fold of a log makes these messages, and an agent gets them. */
import type { PromptBlock, Seal } from "./value.js";

/** One text of a model. */
export interface TextPart {
  readonly type: "text";
  readonly text: string;
  readonly seal?: Seal;
}

/** The reasoning of a model before a text or a call. */
export interface ReasoningPart {
  readonly type: "reasoning";
  readonly text: string;
  readonly seal?: Seal;
}

/** A model's call of a tool. */
export interface CallPart {
  readonly type: "call";
  readonly id: string;
  readonly name: string;
  readonly args: Record<string, unknown>;
  readonly seal?: Seal;
}

/** One part of a reply. A provider gets it back in the same place and with its seal. */
export type Part = TextPart | ReasoningPart | CallPart;

export type Message =
  | { readonly role: "user"; readonly text: string; readonly content?: readonly PromptBlock[] }
  /** A model's reply, with its parts in their original order. */
  | { readonly role: "assistant"; readonly parts: readonly Part[] }
  | {
      readonly role: "tool";
      readonly id: string;
      readonly name: string;
      readonly output: string;
      readonly success: boolean;
    }
  | { readonly role: "summary"; readonly text: string };
