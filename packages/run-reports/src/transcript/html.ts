/** Renders an HTML file that loads and runs nothing. Escapes all text of the session, and folds tool calls and diffs. */
import type { MarkdownIt } from "markdown-it";
import type { Block, FileDiff, ToolBlock } from "./block.js";
import { countChanges } from "./file-diff.js";
import type { Heading } from "./heading.js";
import { STYLE } from "./html-style.js";
import { escapeHtml, formatDuration, plainText } from "./text.js";

/** The policy that lets a browser only show a transcript. Send it as a header too; the file has it in a meta tag. */
export const TRANSCRIPT_CSP = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

export async function* renderHtml(heading: Heading, blocks: AsyncIterable<Block>): AsyncGenerator<string> {
  const prose = await loadProseRenderer();
  yield head(heading);
  let empty = true;
  for await (const block of blocks) {
    empty = false;
    yield* renderBlock(block, prose);
  }
  if (empty) {
    if (heading.prompt !== "") yield prompt(heading.prompt, "You");
    yield "<p><em>(no events recorded)</em></p>\n";
  }
  yield `</main>\n<footer><p>${escapeHtml(heading.id)}</p></footer>\n</body>\n</html>\n`;
}

// --- internal ---

function head(heading: Heading): string {
  const rows = heading.rows
    .filter(([, value]) => value !== "")
    .map(([label, value]) => `<tr><th scope="row">${escapeHtml(label)}</th><td>${escapeHtml(value)}</td></tr>\n`)
    .join("");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escapeHtml(TRANSCRIPT_CSP)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>${escapeHtml(heading.title)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<p class="program">${escapeHtml(heading.program)} session <code>${escapeHtml(heading.id)}</code></p>
<h1>${escapeHtml(heading.title)}</h1>
<table class="meta"><tbody>
${rows}</tbody></table>
</header>
<main>
`;
}

/** Yields a block in parts, because it may have several long texts. */
function* renderBlock(block: Block, prose: ProseRenderer): Generator<string> {
  switch (block.kind) {
    case "prompt":
      return yield prompt(block.text, block.origin === null ? "You" : `You, from ${block.origin}`);
    case "answer":
      return yield `<div class="event answer">${prose(block.text)}</div>\n`;
    case "thought":
      return yield* folded("thought", "Thought", [`<div class="plain">${escapeHtml(block.text)}</div>`]);
    case "tool":
      return yield* folded("tool", toolSummary(block), toolParts(block, prose));
    case "edit":
      yield '<div class="event">';
      yield* renderDiff(block.diff, false);
      return yield "</div>\n";
    case "plan":
      return yield* folded("plan", planSummary(block.entries), planItems(block.entries));
    case "note":
      return yield `<div class="event note ${block.level}">${escapeHtml(block.text)}</div>\n`;
    case "end":
      return yield `<div class="event end"><b class="${block.outcome}">${OUTCOME[block.outcome]}</b>${[
        ...block.facts,
        block.error,
      ]
        .filter((fact) => fact !== "")
        .map((fact) => `<span class="facts">${escapeHtml(fact)}</span>`)
        .join("")}</div>\n`;
    case "other":
      return yield* folded("other", `<code>${escapeHtml(block.type)}</code>`, [
        pre(JSON.stringify(block.metadata, null, 2) ?? ""),
      ]);
  }
}

/** Lines of a diff to render at once. */
const STRETCH = 1000;
const OUTCOME = { done: "Done", failed: "Failed", cancelled: "Cancelled" } as const;
const STATUS_MARK = { ok: "✓", failed: "✗", unfinished: "…" } as const;

function prompt(text: string, who: string): string {
  return `<div class="event prompt"><p class="who">${escapeHtml(who)}</p><div>${escapeHtml(text)}</div></div>\n`;
}

function toolSummary(block: ToolBlock): string {
  const facts: string[] = [];
  if (block.durationMs !== null) facts.push(formatDuration(block.durationMs));
  if (block.permission !== "") facts.push(`permission: ${block.permission}`);
  const title = block.title === "" ? "" : ` ${escapeHtml(block.title)}`;
  return `<span class="${block.status}">${STATUS_MARK[block.status]}</span> <b>${escapeHtml(block.tool)}</b>${title} <span class="facts">${escapeHtml(facts.join(" · "))}</span>`;
}

function* toolParts(block: ToolBlock, prose: ProseRenderer): Generator<string> {
  yield `<h3>Arguments</h3>${pre(JSON.stringify(block.args, null, 2) ?? "")}`;
  for (const part of block.inside) yield* renderBlock(part, prose);
  for (const diff of block.diffs) {
    yield "\n";
    yield* renderDiff(diff, true);
  }
  if (block.output !== "") yield `\n<h3>Output</h3>${pre(block.output)}`;
  if (block.error !== "") yield `\n<h3 class="error">Error</h3>${pre(block.error)}`;
}

function* renderDiff(diff: FileDiff, open: boolean): Generator<string> {
  const { added, removed } = countChanges(diff);
  yield `<details${open ? " open" : ""}><summary><b>${escapeHtml(diff.path)}</b> <span class="plus">+${added}</span> <span class="minus">−${removed}</span></summary><pre class="diff">`;
  for (let at = 0; at < diff.lines.length; at += STRETCH) {
    const lines = diff.lines.slice(at, at + STRETCH);
    yield lines.map((line) => `<span${lineClass(line)}>${escapeHtml(line) || " "}</span>`).join("");
  }
  yield "</pre></details>";
}

function lineClass(line: string): string {
  if (line.startsWith("+")) return ' class="add"';
  if (line.startsWith("-")) return ' class="del"';
  return line.startsWith("@@") ? ' class="hunk"' : "";
}

type Entries = Extract<Block, { kind: "plan" }>["entries"];

function planSummary(entries: Entries): string {
  const done = entries.filter((entry) => entry.status === "completed").length;
  return `Plan <span class="facts">${done} of ${entries.length} done</span>`;
}

function* planItems(entries: Entries): Generator<string> {
  yield "<ul>";
  for (const { content, status } of entries) yield `<li>${planMark(status)} ${escapeHtml(content)}</li>`;
  yield "</ul>";
}

function planMark(status: string): string {
  return status === "completed" ? "☑" : status === "in_progress" ? "◐" : "☐";
}

function pre(text: string): string {
  // Add a newline, because an HTML parser drops the first newline after <pre>.
  return `<pre>\n${escapeHtml(text)}</pre>`;
}

/** `summary` and `body` must be HTML. */
function* folded(name: string, summary: string, body: Iterable<string>): Generator<string> {
  yield `<details class="event ${name}"><summary>${summary}</summary><div class="body">`;
  yield* body;
  yield "</div></details>\n";
}

/** A longer text is shown as plain text, because the parser's worst case grows faster than its input. */
const LONGEST_PROSE = 32_768;
/** So is a text with more marks than a person writes, because each mark may cost a search through the others. */
const MOST_MARKS = 3000;
const MARKS = /[*_~`|[\]<>&\\!]/g;
const LINK = /^(?:https?:\/\/|mailto:)/i;

type ProseRenderer = (text: string) => string;

/** Renders an answer's Markdown without raw HTML and images; links may lead only to the web and to mail. */
async function loadProseRenderer(): Promise<ProseRenderer> {
  const { default: Markdown } = await import("markdown-it");
  const markdown = new Markdown({ html: false, linkify: false });
  markdown.disable("image");
  markdown.validateLink = (url) => LINK.test(url);
  openLinksSafely(markdown);
  return (text) => {
    if (text.length > LONGEST_PROSE || marksIn(text) > MOST_MARKS)
      return `<div class="plain">${escapeHtml(text)}</div>`;
    return markdown.render(plainText(text));
  };
}

function marksIn(text: string): number {
  return text.match(MARKS)?.length ?? 0;
}

/** Ensures that a page opened from a link learns nothing about the transcript. */
function openLinksSafely(markdown: MarkdownIt): void {
  markdown.renderer.rules["link_open"] = (tokens, index, options, _env, renderer) => {
    tokens[index]!.attrSet("rel", "noopener noreferrer nofollow");
    return renderer.renderToken(tokens, index, options);
  };
}
