/** A conversation as a model sees it: what `fold(log)` yields and what an agent is given. */
import type { PromptBlock } from "./metadata.js";

export interface ToolUse {
  readonly id: string;
  readonly name: string;
  readonly args: Record<string, unknown>;
}

export type Message =
  | { readonly role: "user"; readonly text: string; readonly content?: readonly PromptBlock[] }
  | { readonly role: "assistant"; readonly text: string; readonly thought?: string; readonly tools: readonly ToolUse[] }
  | {
      readonly role: "tool";
      readonly id: string;
      readonly name: string;
      readonly output: string;
      readonly success: boolean;
    }
  | { readonly role: "summary"; readonly text: string };
