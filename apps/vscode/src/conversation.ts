/** What the panel shows: a fold of the session's updates into a list of items, each of which may still change. */
import type { Update } from "./agent.js";

export type Item =
  | { readonly type: "user" | "agent"; readonly text: string }
  | { readonly type: "notice"; readonly level: string; readonly text: string }
  | {
      readonly type: "tool";
      readonly id: string;
      readonly title: string;
      /** The end of what it printed, or its result. */
      readonly output: string;
      readonly state: "running" | "done" | "failed";
    };

/** An item at its place in the list. */
export interface Placed {
  readonly index: number;
  readonly item: Item;
}

export interface Conversation {
  readonly items: readonly Item[];
  add(item: Item): Placed;
  /** Takes an update in; null for one that changes nothing in the list. */
  apply(update: Update): Placed | null;
}

export function createConversation(): Conversation {
  const items: Item[] = [];
  const cards = new Map<string, number>();
  const place = (index: number, item: Item): Placed => {
    items[index] = item;
    return { index, item };
  };
  const add = (item: Item): Placed => place(items.length, item);
  const change = (id: string, next: (card: Card) => Card): Placed | null => {
    const index = cards.get(id);
    const card = index === undefined ? undefined : items[index];
    return index === undefined || card?.type !== "tool" ? null : place(index, next(card));
  };

  return {
    items,
    add,
    apply(update) {
      switch (update.kind) {
        case "agent_message_chunk": {
          const last = items.at(-1);
          if (update.text === "") return null;
          if (last?.type !== "agent") return add({ type: "agent", text: update.text });
          return place(items.length - 1, { type: "agent", text: last.text + update.text });
        }
        case "tool_call_start": {
          const { id, tool, args } = update;
          cards.set(id, items.length);
          return add({ type: "tool", id, title: titleOf(tool, args), output: "", state: "running" });
        }
        case "tool_call_progress": {
          const printed = update.stdout ?? update.stderr ?? "";
          return change(update.id, (card) => ({ ...card, output: (card.output + printed).slice(-MOST_OUTPUT) }));
        }
        case "tool_call_end": {
          const { result, success } = update;
          const state = success ? "done" : "failed";
          return change(update.id, (card) => ({ ...card, output: result.slice(-MOST_OUTPUT), state }));
        }
        case "sandbox_violation":
          return add({ type: "notice", level: "warning", text: `${update.tool} was stopped: ${update.reason}` });
        case "notice":
          return add({ type: "notice", level: update.level, text: update.text });
        default:
          return null;
      }
    },
  };
}

/** A call in one line: the tool, and what it is about. */
export function titleOf(tool: string, args: Readonly<Record<string, unknown>>): string {
  const subject = ["command", "path", "pattern", "query"]
    .map((name) => args[name])
    .find((value) => typeof value === "string");
  const [line = ""] = String(subject ?? "").split("\n", 1);
  return `${tool} ${line.slice(0, 120)}`.trim();
}

// --- internal ---

type Card = Extract<Item, { type: "tool" }>;

const MOST_OUTPUT = 20_000;
