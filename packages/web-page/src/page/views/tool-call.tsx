/** A tool call as a card: closed when it is done, open while it writes. */
import type { ComponentChild } from "preact";
import { useState } from "preact/hooks";
import type { CallItem, Item } from "../session/item.js";
import { parseUnified } from "../text/diff.js";
import { DiffView } from "./diff-view.js";
import { Terminal, ToolContents } from "./tool-content.js";

const STATES = { running: "running", waiting: "waits for an answer", done: "done", failed: "failed" } as const;

/** @param show how what happened inside a task is shown. */
export function ToolCall({ item, show }: { readonly item: CallItem; readonly show: (inside: Item) => ComponentChild }) {
  item.changed.value;
  /** What the person chose; null while they have not. */
  const [chosen, choose] = useState<boolean | null>(null);
  const { title, tool, state, durationMs, decision, error } = item;
  const isOpen = chosen ?? (state === "running" && item.progress !== "");
  return (
    <details class={`card call ${state}`} open={isOpen}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a summary is a button. */}
      <summary
        onClick={(event) => {
          event.preventDefault();
          choose(!isOpen);
        }}
      >
        <span class="tool">{tool}</span> <span class="title">{withoutName(title, tool)}</span>
        <span class="state">
          {decision && `${decision}, `}
          {STATES[state]}
          {durationMs !== null && durationMs >= 1000 && ` in ${(durationMs / 1000).toFixed(1)} s`}
        </span>
      </summary>
      {isOpen && (
        <div class="inside">
          <Arguments args={item.args} />
          {item.inside.map(show)}
          {item.edits.map(({ path, diff }) => (
            <DiffView key={path} path={path} lines={parseUnified(diff)} />
          ))}
          {item.edits.length === 0 && <ToolContents content={item.content} />}
          {item.output !== "" && item.content.length === 0 && <Terminal text={item.output} />}
          {item.output === "" && item.progress !== "" && <Terminal text={item.progress} />}
          {error && error !== item.output && <p class="error">{error}</p>}
        </div>
      )}
    </details>
  );
}

/** Most titles begin with the tool's name, which stands before them already. */
function withoutName(title: string, tool: string): string {
  const [first, ...rest] = title.split(" ");
  return first === tool ? rest.join(" ") : title;
}

export function Arguments({ args }: { readonly args: Readonly<Record<string, unknown>> }) {
  const rows = Object.entries(args);
  if (rows.length === 0) return null;
  return (
    <dl class="arguments">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === "string" ? shortened(value) : shortened(JSON.stringify(value) ?? "")}</dd>
        </div>
      ))}
    </dl>
  );
}

// --- internal ---

const VALUE_CHARS = 4000;

function shortened(text: string): string {
  return text.length > VALUE_CHARS ? `${text.slice(0, VALUE_CHARS)}… (${text.length} characters)` : text;
}
