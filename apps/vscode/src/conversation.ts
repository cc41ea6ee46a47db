/** The content of the panel: folds the session's updates into a list of items, which may still change. */
import { createTwoFilesPatch } from "diff";
import type { Update } from "./agent.js";

export type Asked = Extract<Update, { kind: "permission_request" }>;

export type Item =
  | { readonly type: "user" | "agent"; readonly text: string }
  | { readonly type: "notice"; readonly level: string; readonly text: string }
  | {
      readonly type: "tool";
      readonly id: string;
      readonly title: string;
      /** The end of its output, or its result. */
      readonly output: string;
      readonly state: "running" | "done" | "failed";
    }
  /** A change of a file: the hunks of a unified diff. */
  | { readonly type: "diff"; readonly text: string }
  | {
      readonly type: "question";
      readonly id: string;
      readonly title: string;
      /** The full content of the request, because people can only approve what they have seen. */
      readonly text: string;
      readonly diff: string;
      /** The outcome; null while it waits. */
      readonly answer: string | null;
    };

/** An item with its index in the list. */
export interface Placed {
  readonly index: number;
  readonly item: Item;
}

export type Conversation = ReturnType<typeof createConversation>;

export function createConversation() {
  const items: Item[] = [];
  /** Id of a call or question -> its index in the list. */
  const places = new Map<string, number>();
  const place = (index: number, item: Item): Placed => {
    items[index] = item;
    return { index, item };
  };
  const add = (item: Item): Placed => place(items.length, item);
  const change = <T extends Changing["type"]>(type: T, id: string, next: (item: Of<T>) => Item): Placed | null => {
    const index = places.get(id);
    const item = index === undefined ? undefined : items[index];
    return index === undefined || item?.type !== type ? null : place(index, next(item as Of<T>));
  };

  return {
    items,
    add,
    /** Applies an update. Null if it changes nothing in the list. */
    apply(update: Update) {
      switch (update.kind) {
        case "agent_message_chunk": {
          const last = items.at(-1);
          if (update.text === "") return null;
          if (last?.type !== "agent") return add({ type: "agent", text: update.text });
          return place(items.length - 1, { type: "agent", text: last.text + update.text });
        }
        case "tool_call_start": {
          const { id, tool, args } = update;
          places.set(id, items.length);
          return add({ type: "tool", id, title: titleOf(tool, args), output: "", state: "running" });
        }
        case "tool_call_progress": {
          const printed = update.stdout ?? update.stderr ?? "";
          return change("tool", update.id, (card) => ({
            ...card,
            output: (card.output + printed).slice(-MOST_OUTPUT),
          }));
        }
        case "tool_call_end": {
          const { result, success } = update;
          const state = success ? "done" : "failed";
          return change("tool", update.id, (card) => ({ ...card, output: result.slice(-MOST_OUTPUT), state }));
        }
        case "file_edit": {
          const text = hunksOf(update.diff);
          return text === "" ? null : add({ type: "diff", text: startOf(text) });
        }
        case "permission_request": {
          const { id, tool } = update;
          places.set(id, items.length);
          const title = wantedOf(update) ? "A question" : `Allow ${tool}?`;
          return add({ type: "question", id, title, ...shownOf(update), answer: null });
        }
        case "sandbox_violation":
          return add({ type: "notice", level: "warning", text: `${update.tool} was stopped: ${update.reason}` });
        case "notice":
          return add({ type: "notice", level: update.level, text: update.text });
        default:
          return null;
      }
    },
    /** Adds the outcome to a question. */
    answered: (id: string, answer: string) => change("question", id, (question) => ({ ...question, answer })),
  };
}

/** The agent's question and its options; null for a permission request, which has a digest, whatever the name of its tool. */
export function wantedOf({
  tool,
  args,
  shown,
}: Asked): { readonly question: string; readonly options: readonly string[] } | null {
  const { question, options } = args;
  if (shown !== undefined || tool !== "ask" || typeof question !== "string" || !Array.isArray(options)) return null;
  return { question, options: options.map(String) };
}

/** A call in one line: the tool and its main argument, with a mark if some of it is left out. */
export function titleOf(tool: string, args: Readonly<Record<string, unknown>>): string {
  const subject = ["command", "path", "pattern", "query", "question"]
    .map((name) => args[name])
    .find((value) => typeof value === "string");
  const whole = String(subject ?? "").trim();
  const line = whole.split("\n", 1)[0]?.slice(0, 120) ?? "";
  return `${tool} ${line}${line.length < whole.length ? " …" : ""}`.trim();
}

// --- internal ---

type Changing = Extract<Item, { id: string }>;
type Of<T extends Changing["type"]> = Extract<Changing, { type: T }>;

const MOST_OUTPUT = 20_000;

function startOf(text: string): string {
  const left = text.length - MOST_OUTPUT;
  return left > 0 ? `${text.slice(0, MOST_OUTPUT)}\n[${left} more characters]` : text;
}

/** A unified diff without the lines that name the files; empty if the change was too large to describe. */
function hunksOf(diff: string): string {
  const at = diff.search(/^@@/m);
  return at < 0 ? "" : diff.slice(at).trimEnd();
}

/** The full content of a question. Without content, its arguments are shown. */
function shownOf(asked: Asked): { readonly text: string; readonly diff: string } {
  const { content, args } = asked;
  if (!content) return { text: wantedOf(asked)?.question ?? JSON.stringify(args, null, 2), diff: "" };
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const diffs = content.flatMap((part) =>
    part.type === "diff"
      ? [hunksOf(createTwoFilesPatch(part.path, part.path, part.old_text ?? "", part.new_text))]
      : [],
  );
  return { text: texts.join("\n"), diff: diffs.join("\n") };
}
