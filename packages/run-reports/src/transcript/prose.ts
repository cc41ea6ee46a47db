/** An answer's Markdown as HTML: no raw HTML, no images, links only to the web and to mail. */
import type { MarkdownIt } from "markdown-it";
import { escapeHtml } from "./html-text.js";
import { plainText } from "./plain-text.js";

/** Longer texts are shown as they are: a parser's worst case grows faster than its input. */
const LONGEST = 32_768;
/** The same for one with more marks than anybody writes: each of them may cost a search through the others. */
const MOST_MARKS = 3000;
const MARKS = /[*_~`|[\]<>&\\!]/g;
const LINK = /^(?:https?:\/\/|mailto:)/i;

export type ProseRenderer = (text: string) => string;

export async function loadProseRenderer(): Promise<ProseRenderer> {
  const { default: Markdown } = await import("markdown-it");
  const markdown = new Markdown({ html: false, linkify: false });
  markdown.disable("image");
  markdown.validateLink = (url) => LINK.test(url);
  openLinksSafely(markdown);
  return (text) => {
    if (text.length > LONGEST || marksIn(text) > MOST_MARKS) return `<div class="plain">${escapeHtml(text)}</div>`;
    return markdown.render(plainText(text));
  };
}

// --- internal ---

function marksIn(text: string): number {
  return text.match(MARKS)?.length ?? 0;
}

/** A page that a link opens learns nothing of the transcript it was opened from. */
function openLinksSafely(markdown: MarkdownIt): void {
  markdown.renderer.rules["link_open"] = (tokens, index, options, _env, renderer) => {
    tokens[index]!.attrSet("rel", "noopener noreferrer nofollow");
    return renderer.renderToken(tokens, index, options);
  };
}
