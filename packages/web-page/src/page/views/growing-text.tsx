/** A message as it grows. Its text goes past the framework into the document: closed blocks once, the open one at each flush. */
import { effect } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { TextItem } from "../session/item.js";
import { type Block, type Blocks, createBlocks } from "../text/blocks.js";
import { highlightWhenSeen } from "../text/highlight.js";
import { codeBlock, renderMarkdown } from "../text/markdown.js";

export function GrowingText({ item }: { readonly item: TextItem }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const write = createWriter(place.current!);
    return effect(() => {
      item.changed.value;
      write(item.blocks);
    });
  }, [item]);
  return <div class="prose" ref={place} />;
}

/** Shows a complete text in the same way. */
export function WholeText({ text }: { readonly text: string }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const blocks = createBlocks();
    blocks.push(text);
    blocks.end();
    place.current!.replaceChildren();
    createWriter(place.current!)(blocks);
  }, [text]);
  return <div class="prose" ref={place} />;
}

// --- internal ---

/** An open block that takes longer is shown as source text until it is closed, because it would be parsed twenty times a second. */
const OPEN_MS = 10;

function createWriter(node: HTMLElement): (blocks: Blocks) => void {
  const spent = { ms: 0 };
  const open = document.createElement("div");
  node.append(open);
  let written = 0;
  let isSlow = false;
  return ({ closed, open: growing }) => {
    for (const block of closed.slice(written)) {
      open.before(nodeOf(block, (text) => renderMarkdown(text, spent)));
      highlightWhenSeen(node);
      isSlow = false;
    }
    written = closed.length;
    if (!growing) return open.replaceChildren();
    open.replaceChildren(
      nodeOf(growing, (text) => {
        const cost = { ms: isSlow ? Number.POSITIVE_INFINITY : 0 };
        const parts = renderMarkdown(text, cost);
        isSlow = cost.ms > OPEN_MS;
        return parts;
      }),
    );
  };
}

function nodeOf({ type, text, language }: Block, render: (text: string) => Node): Node {
  return type === "code" ? codeBlock(text, language) : render(text);
}
