/** Turns a page into text for a model. Headings, lists, links and code keep marks; all other markup is removed. */
import { setImmediate } from "node:timers/promises";

/** Takes time in proportion to the length of the page, whatever it contains, and lets other work run in between. */
export async function htmlToText(html: string, base: URL): Promise<string> {
  const out = createOutput();
  let skipped: string | null = null;
  let at = 0;
  for (let tags = 1; at < html.length; tags += 1) {
    if (tags % STRETCH === 0) await setImmediate();
    const open = html.indexOf("<", at);
    if (skipped === null) out.text(html.slice(at, open === -1 ? html.length : open));
    if (open === -1) break;
    const tag = tagAt(html, open);
    at = tag.end;
    if (skipped !== null) {
      if (tag.isClosing && tag.name === skipped) skipped = null;
    } else if (SKIPPED.has(tag.name) && !tag.isClosing) skipped = tag.name;
    else take(tag, out, base);
  }
  return out.end();
}

// --- internal ---

/** Tags to process before other work may run. */
const STRETCH = 2_000;

const SKIPPED: ReadonlySet<string> = new Set("script style noscript svg template iframe head".split(" "));
const BLOCKS: ReadonlySet<string> = new Set(
  "p div section article main header footer aside nav ul ol table tr blockquote form figure dl dt dd hr br h1 h2 h3 h4 h5 h6 pre li".split(
    " ",
  ),
);

interface Tag {
  readonly name: string;
  readonly isClosing: boolean;
  readonly attributes: string;
  readonly end: number;
}

/** Reads the tag at a position. A comment or a declaration has an empty name; a `<` that begins no tag has the name "<". */
function tagAt(html: string, open: number): Tag {
  if (html.startsWith("<!--", open)) {
    const close = html.indexOf("-->", open + 4);
    return { name: "", isClosing: false, attributes: "", end: close === -1 ? html.length : close + 3 };
  }
  const name = /^<(\/?)([a-zA-Z][a-zA-Z0-9]*)/.exec(html.slice(open, open + 32));
  const isMarkup = name !== null || html[open + 1] === "!" || html[open + 1] === "?";
  if (!isMarkup) return { name: "<", isClosing: false, attributes: "", end: open + 1 };
  const close = html.indexOf(">", open);
  const end = close === -1 ? html.length : close + 1;
  if (!name) return { name: "", isClosing: false, attributes: "", end };
  const attributes = html.slice(open + name[0].length, Math.min(end, open + LONGEST_TAG));
  return { name: (name[2] as string).toLowerCase(), isClosing: name[1] === "/", attributes, end };
}

const LONGEST_TAG = 4096;

function take({ name, isClosing, attributes }: Tag, out: ReturnType<typeof createOutput>, base: URL): void {
  if (name === "<") out.text("&lt;");
  if (BLOCKS.has(name)) out.line(name === "p" || /^h\d$/.test(name) || name === "pre" || name === "table");
  if (name === "pre") {
    out.fence(!isClosing);
  } else if (name === "a") {
    if (isClosing) out.closeLink();
    else out.openLink(() => linkOf(attributes, base));
  } else if (!isClosing) {
    if (name === "li") out.text("- ");
    else if (/^h[1-6]$/.test(name)) out.text(`${"#".repeat(Number(name[1]))} `);
    else if (name === "td" || name === "th") out.text(" | ");
    else if (name === "img") out.text(attributeOf(attributes, ALT));
  }
}

const HREF = /\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))/i;
const ALT = /\salt\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))/i;

function attributeOf(attributes: string, pattern: RegExp): string {
  const found = pattern.exec(attributes);
  return found?.[1] ?? found?.[2] ?? found?.[3] ?? "";
}

function linkOf(attributes: string, base: URL): string | null {
  const target = decodeEntities(attributeOf(attributes, HREF));
  if (target === "" || target.startsWith("#") || !URL.canParse(target, base.href)) return null;
  const { href, protocol } = new URL(target, base);
  return protocol === "http:" || protocol === "https:" ? href : null;
}

/** Most links in a page. Further links become plain text. */
const MOST_LINKS = 2_000;
/** Most pieces of text in a link. */
const LONGEST_LABEL = 32;

function createOutput() {
  const result: string[] = [];
  let isPre = false;
  let links = 0;
  let link: { target: string | null; at: number } | null = null;
  return {
    text(html: string): void {
      const text = decodeEntities(html);
      result.push(isPre ? text : text.replace(/\s+/g, " "));
    },
    line(isApart: boolean): void {
      result.push(isApart ? "\n\n" : "\n");
    },
    fence(isOpen: boolean): void {
      isPre = isOpen;
      result.push("```\n");
    },
    openLink(target: () => string | null): void {
      links += 1;
      link = { target: links > MOST_LINKS ? null : target(), at: result.length };
    },
    closeLink(): void {
      const { target, at } = link ?? { target: null, at: result.length };
      link = null;
      // A link around a large part of the page stays plain text, because a link must be one line.
      if (target === null || result.length - at > LONGEST_LABEL) return;
      const label = result.slice(at).join("").replace(/\s+/g, " ").trim();
      if (label !== "") result.splice(at, result.length - at, `[${label}](${target})`);
    },
    end: () =>
      result
        .join("")
        .split("\n")
        .map((line) => line.trimEnd().replace(/^ (?=\S)/, ""))
        .join("\n")
        .replace(/\n{3,}/g, "\n\n")
        .trim(),
  };
}

const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  copy: "©",
  mdash: "—",
  ndash: "–",
  hellip: "…",
  laquo: "«",
  raquo: "»",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  bull: "•",
  middot: "·",
  rarr: "→",
  larr: "←",
  times: "×",
};

function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z]{2,8}));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return Object.hasOwn(NAMED, name) ? (NAMED[name] as string) : whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
