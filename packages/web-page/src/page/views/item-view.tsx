/** One item of a conversation. */
import type { Item, PlanItem, TextItem } from "../session/item.js";
import { GrowingText, WholeText } from "./growing-text.js";
import { ToolCall } from "./tool-call.js";
import { ContentBlock } from "./tool-content.js";

export function ItemView({ item }: { readonly item: Item }) {
  switch (item.type) {
    case "prompt":
      return (
        <div class="item prompt">
          <WholeText text={item.text} />
          {item.content
            .filter((block) => block.type !== "text")
            .map((block, at) => (
              <ContentBlock block={block} key={at} />
            ))}
        </div>
      );
    case "text":
      return (
        <div class="item">
          <GrowingText item={item} />
        </div>
      );
    case "thought":
      return <Thought item={item} />;
    case "call":
      return (
        <div class="item">
          <ToolCall item={item} show={(inside) => <ItemView item={inside} key={inside.key} />} />
        </div>
      );
    case "plan":
      return <Plan item={item} />;
    case "content":
      return (
        <div class="item">
          <ContentBlock block={item.block} />
        </div>
      );
    case "note":
      return <p class={`item note ${item.level}`}>{item.text}</p>;
  }
}

// --- internal ---

function Thought({ item }: { readonly item: TextItem }) {
  return (
    <div class="item">
      <details class="card thought">
        <summary>Thinking</summary>
        <div class="inside">
          <GrowingText item={item} />
        </div>
      </details>
    </div>
  );
}

const MARKS = { pending: "○", in_progress: "◐", completed: "●" } as const;

function Plan({ item }: { readonly item: PlanItem }) {
  item.changed.value;
  const done = item.entries.filter(({ status }) => status === "completed").length;
  return (
    <div class="item">
      <details class="card plan" open>
        <summary>
          Plan <span class="state">{`${done} of ${item.entries.length}`}</span>
        </summary>
        <ol class="inside">
          {item.entries.map(({ content, status }) => (
            <li class={status} key={content}>
              <span aria-hidden="true">{MARKS[status]} </span>
              {content}
              <span class="hidden">: {status.replace("_", " ")}</span>
            </li>
          ))}
        </ol>
      </details>
    </div>
  );
}
