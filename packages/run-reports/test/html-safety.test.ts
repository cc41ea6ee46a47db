import { type DefaultTreeAdapterTypes, parse } from "parse5";
import { describe, expect, it } from "vitest";
import { TRANSCRIPT_CSP } from "../src/index.js";
import { render, sourceOf } from "./fixture.js";
import { HOSTILE, PLACES } from "./hostile.js";

const ALLOWED_TAGS = new Set(
  "html head meta title style body header main footer p h1 h2 h3 h4 h5 h6 table thead tbody tr th td div span b em strong s a code pre details summary ul ol li blockquote br hr".split(
    " ",
  ),
);
const ALLOWED_ATTRIBUTES = new Set([
  "lang",
  "charset",
  "http-equiv",
  "content",
  "name",
  "class",
  "scope",
  "href",
  "rel",
  "open",
  "start",
  "style",
  "title",
]);

type Element = DefaultTreeAdapterTypes.Element;

function elementsOf(html: string): Element[] {
  const found: Element[] = [];
  const walk = (node: DefaultTreeAdapterTypes.Node): void => {
    if ("tagName" in node) found.push(node);
    if ("childNodes" in node) node.childNodes.forEach(walk);
    if ("content" in node) walk(node.content);
  };
  walk(parse(html));
  return found;
}

/** Everything on the page that the package does not intend. */
function strangers(html: string): string[] {
  const found: string[] = [];
  const count = { style: 0, meta: 0, title: 0 };
  for (const { tagName, attrs } of elementsOf(html)) {
    if (!ALLOWED_TAGS.has(tagName)) found.push(`<${tagName}>`);
    if (tagName in count) count[tagName as keyof typeof count]++;
    for (const { name, value } of attrs) {
      if (!ALLOWED_ATTRIBUTES.has(name)) found.push(`${tagName}[${name}]`);
      if (name === "href" && !/^(?:https?:\/\/|mailto:)/i.test(value)) found.push(`href=${value}`);
      if (name === "style" && !/^text-align:(?:left|right|center)$/.test(value)) found.push(`style=${value}`);
      if (name === "http-equiv" && value !== "Content-Security-Policy") found.push(`http-equiv=${value}`);
    }
  }
  if (count.style !== 1 || count.meta !== 5 || count.title !== 1) found.push(JSON.stringify(count));
  return found;
}

describe.each(Object.keys(PLACES))("hostile content as %s", (place) => {
  it.each(HOSTILE.map((hostile) => [hostile]))("stays text: %j", async (hostile) => {
    const { events, summary, id } = PLACES[place]!(hostile);
    const html = await render(sourceOf(events, { summary: summary ?? {}, ...(id !== undefined && { id }) }), {
      format: "html",
    });
    expect(strangers(html)).toEqual([]);
  });
});

describe("the page", () => {
  it("has its own policy, which allows only its style", async () => {
    const html = await render(sourceOf([]), { format: "html" });
    const policy = elementsOf(html).find((element) => element.attrs.some(({ name }) => name === "http-equiv"));
    expect(policy?.attrs.find(({ name }) => name === "content")?.value).toBe(TRANSCRIPT_CSP);
    expect(TRANSCRIPT_CSP).toMatch(/^default-src 'none'; style-src 'unsafe-inline'/);
    expect(html).not.toMatch(/<script|<link|@import|url\(/);
  });

  it("detects unintended content, so the check itself works", () => {
    expect(strangers("<p onclick=x><script></script><a href='javascript:x'>")).toEqual([
      "p[onclick]",
      "<script>",
      "href=javascript:x",
      expect.any(String),
    ]);
  });

  it("keeps only links to the web and to mail", async () => {
    const answer = "[a](https://example.com/?q=1&r=2) [b](mailto:a@example.com) <https://c.test/>";
    const html = await render(sourceOf([{ type: "text_delta", metadata: { text: answer } }]), { format: "html" });
    const links = elementsOf(html).filter((element) => element.tagName === "a");
    expect(links.map((link) => Object.fromEntries(link.attrs.map(({ name, value }) => [name, value])))).toEqual(
      ["https://example.com/?q=1&r=2", "mailto:a@example.com", "https://c.test/"].map((href) => ({
        href,
        rel: "noopener noreferrer nofollow",
      })),
    );
  });

  it.each([
    ["quotes", ">".repeat(30_000)],
    ["brackets", "[".repeat(30_000)],
    ["stars", "*a_ ".repeat(8_000)],
    ["lists", "- ".repeat(15_000)],
    ["underscores", "__".repeat(15_000)],
    ["a text over the bound", "*a_ [".repeat(40_000)],
  ])("renders an answer of only %s", async (_name, answer) => {
    const html = await render(sourceOf([{ type: "text_delta", metadata: { text: answer } }]), { format: "html" });
    expect(strangers(html)).toEqual([]);
  });
});
