/**
 * Markdown as nodes. The parser decides what is what, and its tokens become elements one by one: the page never parses a text as HTML.
 * HTML and images are shown as the text they are written as; links lead only to the schemes below.
 */
import { Lexer, type Token, type Tokens } from "marked";

/** A longer block is shown as source text, because the parser's time grows with the square of its length. */
export const BLOCK_CHARS = 4096;
/** Milliseconds of parsing that one message may cost; after that, the rest of it is shown as source text. */
export const MESSAGE_MS = 150;

/** The parsing time of one message so far. */
export interface Spent {
  ms: number;
}

export function renderMarkdown(text: string, spent: Spent = { ms: 0 }): Node {
  if (text.length > BLOCK_CHARS || spent.ms > MESSAGE_MS) return plain(text);
  const start = performance.now();
  try {
    const parts = document.createDocumentFragment();
    parts.append(...blocks(new Lexer({ gfm: true }).lex(text)));
    return parts;
  } catch {
    // Markers nested a thousand deep are more than the stack holds.
    return plain(text);
  } finally {
    spent.ms += performance.now() - start;
  }
}

/** Where a link may lead; null for anything else. */
export function safeAddress(address: string): string | null {
  try {
    const url = new URL(address);
    return SCHEMES.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

// --- internal ---

const SCHEMES = new Set(["http:", "https:", "mailto:"]);

function plain(text: string): HTMLElement {
  return element("div", "plain", text);
}

function element(name: string, className = "", ...children: (Node | string)[]): HTMLElement {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function blocks(tokens: readonly Token[]): Node[] {
  return tokens.flatMap((token) => block(token as Tokens.Generic));
}

function block(token: Tokens.Generic): Node[] {
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "heading":
      // The page has headings of its own above those of a message.
      return [element(`h${Math.min(6, token["depth"] + 2)}`, "", ...inline(token.tokens))];
    case "hr":
      return [element("hr")];
    case "code":
      return [codeBlock(token["text"], token["lang"] ?? "")];
    case "blockquote":
      return [element("blockquote", "", ...blocks(token.tokens ?? []))];
    case "list":
      return [list(token as Tokens.List)];
    case "table":
      return [table(token as Tokens.Table)];
    case "paragraph":
      return [element("p", "", ...inline(token.tokens))];
    case "text":
      return token.tokens ? inline(token.tokens) : [text(token["text"])];
    case "checkbox":
      return inline([token]);
    default:
      return [element("p", "", token.raw)];
  }
}

/** Code waits for `highlightWhenSeen` in the attribute that names its language. */
export function codeBlock(code: string, language: string): HTMLElement {
  const inner = element("code", "", code);
  const name = /^[\w+#.-]{1,40}/.exec(language)?.[0];
  if (name) inner.dataset["language"] = name.toLowerCase();
  const block = element("pre", "", inner);
  // A region that scrolls can be reached by keyboard.
  block.tabIndex = 0;
  return block;
}

function list({ ordered, start, items }: Tokens.List): HTMLElement {
  const made = element(ordered ? "ol" : "ul");
  if (ordered && typeof start === "number" && start !== 1) made.setAttribute("start", String(start));
  for (const item of items) made.append(element("li", item.task ? "task" : "", ...blocks(item.tokens)));
  return made;
}

function table({ header, rows }: Tokens.Table): HTMLElement {
  const row = (name: string) => (cells: readonly Tokens.TableCell[]) =>
    element("tr", "", ...cells.map(({ tokens }) => element(name, "", ...inline(tokens))));
  const head = element("thead", "", row("th")(header));
  const scrolls = element("div", "wide", element("table", "", head, element("tbody", "", ...rows.map(row("td")))));
  scrolls.tabIndex = 0;
  return scrolls;
}

function inline(tokens: readonly Token[] | undefined): Node[] {
  return (tokens ?? []).map((token) => span(token as Tokens.Generic));
}

function span(token: Tokens.Generic): Node {
  switch (token.type) {
    case "strong":
    case "em":
    case "del":
      return element(token.type, "", ...inline(token.tokens));
    case "codespan":
      return element("code", "", token["text"]);
    case "br":
      return element("br");
    case "link":
      return link(token as Tokens.Link);
    case "checkbox":
      return document.createTextNode(token["checked"] ? "☑ " : "☐ ");
    case "text":
      return token.tokens ? element("span", "", ...inline(token.tokens)) : text(token["text"]);
    case "escape":
      return text(token["text"]);
    default:
      // HTML, images and token types of later parsers are shown as source text.
      return document.createTextNode(token.raw);
  }
}

function link({ href, raw, tokens }: Tokens.Link): Node {
  const address = safeAddress(decode(href));
  if (address === null) return document.createTextNode(raw);
  const made = element("a", "", ...inline(tokens)) as HTMLAnchorElement;
  made.href = address;
  made.target = "_blank";
  made.rel = "noopener noreferrer";
  return made;
}

function text(raw: string): Text {
  return document.createTextNode(decode(raw));
}

const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

/** The parser leaves entities to a browser that reads HTML. */
function decode(raw: string): string {
  return raw.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,5}));/gi, (all, decimal, hex, name) => {
    if (name !== undefined) return NAMED[name] ?? all;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : all;
  });
}
