/** The items of a conversation, in order. Each has a signal that says when it changed. */
import type { Json, Metadata, ToolContent } from "@chimera/acp-schema/events";
import type { Signal } from "@preact/signals-core";
import type { Blocks } from "../text/blocks.js";

interface Base {
  readonly key: string;
  readonly changed: Signal<number>;
}

export interface PromptItem extends Base {
  readonly type: "prompt";
  readonly text: string;
  readonly content: readonly { readonly type: string }[];
}

export interface TextItem extends Base {
  readonly type: "text" | "thought";
  readonly blocks: Blocks;
  /** Characters so far. */
  size: number;
  isOpen: boolean;
}

export interface CallItem extends Base {
  readonly type: "call";
  readonly id: string;
  readonly tool: string;
  title: string;
  kind: string;
  args: Readonly<Record<string, unknown>>;
  state: "running" | "waiting" | "done" | "failed";
  /** The output so far; only the end of a long one is kept. */
  progress: string;
  output: string;
  error: string | null;
  durationMs: number | null;
  content: readonly ToolContent[];
  edits: Metadata<"file_edit">[];
  /** What happened in a task. */
  inside: readonly Item[];
  /** How its permission was decided, or its question answered. */
  decision: string | null;
}

export interface PlanItem extends Base {
  readonly type: "plan";
  entries: Metadata<"plan">["entries"];
}

export interface NoteItem extends Base {
  readonly type: "note";
  readonly level: "info" | "warning" | "error";
  readonly text: string;
}

/** A picture or a file that the agent showed. */
export interface ContentItem extends Base {
  readonly type: "content";
  readonly block: Readonly<Record<string, Json | unknown>>;
}

export type Item = PromptItem | TextItem | CallItem | PlanItem | NoteItem | ContentItem;

/** A turn for display: its prompt and the items that followed. */
export interface ShownTurn {
  /** -1 for what happened before the first prompt. */
  readonly number: number;
  readonly items: Item[];
}
