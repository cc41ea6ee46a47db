/** One HTML file with nothing to load and nothing to run. Whatever the session said is escaped, tool calls and diffs are folded. */
import type { Block, FileDiff, ToolBlock } from "./block.js";
import { formatDuration } from "./duration.js";
import { countChanges } from "./file-diff.js";
import type { Heading } from "./heading.js";
import { STYLE } from "./html-style.js";
import { escapeHtml } from "./html-text.js";
import { loadProseRenderer, type ProseRenderer } from "./prose.js";

/** What a browser may do with a transcript: show it. Send it as a header too; the file carries it in a meta tag. */
export const TRANSCRIPT_CSP = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

export async function* renderHtml(heading: Heading, blocks: AsyncIterable<Block>): AsyncGenerator<string> {
  const prose = await loadProseRenderer();
  yield head(heading);
  let empty = true;
  for await (const block of blocks) {
    empty = false;
    yield renderBlock(block, prose);
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

function renderBlock(block: Block, prose: ProseRenderer): string {
  switch (block.kind) {
    case "prompt":
      return prompt(block.text, block.origin === null ? "You" : `You, from ${block.origin}`);
    case "answer":
      return `<div class="event answer">${prose(block.text)}</div>\n`;
    case "thought":
      return folded("thought", "Thought", `<div class="plain">${escapeHtml(block.text)}</div>`);
    case "tool":
      return renderTool(block);
    case "edit":
      return `<div class="event">${renderDiff(block.diff, false)}</div>\n`;
    case "plan":
      return folded(
        "plan",
        `Plan <span class="facts">${block.entries.filter((entry) => entry.status === "completed").length} of ${block.entries.length} done</span>`,
        `<ul>${block.entries.map(({ content, status }) => `<li>${planMark(status)} ${escapeHtml(content)}</li>`).join("")}</ul>`,
      );
    case "note":
      return `<div class="event note ${block.level}">${escapeHtml(block.text)}</div>\n`;
    case "end":
      return `<div class="event end"><b class="${block.outcome}">${OUTCOME[block.outcome]}</b>${[
        ...block.facts,
        block.error,
      ]
        .filter((fact) => fact !== "")
        .map((fact) => `<span class="facts">${escapeHtml(fact)}</span>`)
        .join("")}</div>\n`;
    case "other":
      return folded(
        "other",
        `<code>${escapeHtml(block.type)}</code>`,
        pre(JSON.stringify(block.metadata, null, 2) ?? ""),
      );
  }
}

const OUTCOME = { done: "Done", failed: "Failed", cancelled: "Cancelled" } as const;
const STATUS_MARK = { ok: "✓", failed: "✗", unfinished: "…" } as const;

function prompt(text: string, who: string): string {
  return `<div class="event prompt"><p class="who">${escapeHtml(who)}</p><div>${escapeHtml(text)}</div></div>\n`;
}

function renderTool(block: ToolBlock): string {
  const facts: string[] = [];
  if (block.durationMs !== null) facts.push(formatDuration(block.durationMs));
  if (block.permission !== "") facts.push(`permission: ${block.permission}`);
  const title = block.title === "" ? "" : ` ${escapeHtml(block.title)}`;
  const summary = `<span class="${block.status}">${STATUS_MARK[block.status]}</span> <b>${escapeHtml(block.tool)}</b>${title} <span class="facts">${escapeHtml(facts.join(" · "))}</span>`;
  const parts = [`<h3>Arguments</h3>${pre(JSON.stringify(block.args, null, 2) ?? "")}`];
  for (const diff of block.diffs) parts.push(renderDiff(diff, true));
  if (block.output !== "") parts.push(`<h3>Output</h3>${pre(block.output)}`);
  if (block.error !== "") parts.push(`<h3 class="error">Error</h3>${pre(block.error)}`);
  return folded("tool", summary, parts.join("\n"));
}

function renderDiff(diff: FileDiff, open: boolean): string {
  const { added, removed } = countChanges(diff);
  const lines = diff.lines.map((line) => `<span${lineClass(line)}>${escapeHtml(line) || " "}</span>`).join("");
  return `<details${open ? " open" : ""}><summary><b>${escapeHtml(diff.path)}</b> <span class="plus">+${added}</span> <span class="minus">−${removed}</span></summary><pre class="diff">${lines}</pre></details>`;
}

function lineClass(line: string): string {
  if (line.startsWith("+")) return ' class="add"';
  if (line.startsWith("-")) return ' class="del"';
  return line.startsWith("@@") ? ' class="hunk"' : "";
}

function planMark(status: string): string {
  return status === "completed" ? "☑" : status === "in_progress" ? "◐" : "☐";
}

function pre(text: string): string {
  // A parser drops a newline right after <pre>; the first one is that one.
  return `<pre>\n${escapeHtml(text)}</pre>`;
}

/** `summary` is HTML, written by this file. */
function folded(name: string, summary: string, body: string): string {
  return `<details class="event ${name}"><summary>${summary}</summary><div class="body">${body}</div></details>\n`;
}
