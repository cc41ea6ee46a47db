/** What a tool shows: diffs, text as a terminal shows it, pictures, files. */
import type { ToolContent } from "@chimera/acp-schema/events";
import { parseAnsi } from "../text/ansi.js";
import { diffTexts } from "../text/diff.js";
import { safeAddress } from "../text/markdown.js";
import { DiffView } from "./diff-view.js";

export function ToolContents({ content }: { readonly content: readonly ToolContent[] }) {
  return (
    <>
      {content.map((part, at) => (
        <Part part={part} key={at} />
      ))}
    </>
  );
}

export function Terminal({ text }: { readonly text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls can be reached by keyboard.
    <pre class="terminal" tabIndex={0}>
      {parseAnsi(text).map(({ text: piece, style }) => (style ? <span class={style}>{piece}</span> : piece))}
    </pre>
  );
}

/** A block in ACP's shape: a picture, a link, an embedded file. What it is, anybody may have written. */
export function ContentBlock({ block }: { readonly block: Readonly<Record<string, unknown>> }) {
  const text = (name: string) => (typeof block[name] === "string" ? (block[name] as string) : "");
  if (block["type"] === "image" && PICTURES.has(text("mimeType"))) {
    return <img class="picture" src={`data:${text("mimeType")};base64,${text("data")}`} alt="From the conversation" />;
  }
  if (block["type"] === "text") return <Terminal text={text("text")} />;
  const resource = (block["resource"] ?? {}) as Record<string, unknown>;
  const name = text("name") || text("uri") || String(resource["uri"] ?? block["type"]);
  const address = safeAddress(text("uri"));
  return (
    <p class="attachment">
      {address ? (
        <a href={address} target="_blank" rel="noopener noreferrer">
          {name}
        </a>
      ) : (
        name
      )}
    </p>
  );
}

// --- internal ---

const PICTURES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

function Part({ part }: { readonly part: ToolContent }) {
  switch (part.type) {
    case "text":
      return <Terminal text={part.text} />;
    case "diff":
      return <DiffView path={part.path} lines={diffTexts(part.old_text, part.new_text)} />;
    case "block":
      return <ContentBlock block={part.block} />;
    case "terminal":
      return <p class="attachment">The client's terminal {part.terminal_id}</p>;
  }
}
