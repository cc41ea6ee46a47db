/** Markdown. All that the session said stands in fences longer than its backticks, so that nothing becomes markup. */
import type { Block, FileDiff, ToolBlock } from "./block.js";
import type { Heading } from "./heading.js";
import { formatDuration, plainText } from "./text.js";

export async function* renderMarkdown(
  heading: Heading,
  blocks: AsyncIterable<Block>,
  count?: number,
): AsyncGenerator<string> {
  yield `# ${heading.program} session ${code(heading.id)}\n\n`;
  for (const [label, value] of heading.rows)
    yield `- ${label}: ${PLAIN_VALUE.test(value) && label !== "model" ? value : code(value)}\n`;
  yield `\n## Prompt\n\n${fence(heading.prompt)}\n## Events${count === undefined ? "" : ` (${count})`}\n`;
  let empty = true;
  for await (const block of blocks) {
    empty = false;
    yield "\n";
    yield* renderBlock(block);
  }
  if (empty) yield "\n_(no events recorded)_\n";
}

// --- internal ---

/** Times and numbers, which cannot be markup. */
const PLAIN_VALUE = /^[A-Za-z0-9:.+-]+$/;

/** Part by part: a block may hold several long texts. */
function* renderBlock(block: Block): Generator<string> {
  switch (block.kind) {
    case "prompt":
      return yield section(
        "user_message",
        block.origin === null ? "" : `from ${code(block.origin)}`,
        fence(block.text),
      );
    case "answer":
      return yield section("text_delta", "", fence(block.text, "markdown"));
    case "thought":
      return yield section("thought_delta", "", fence(block.text));
    case "tool":
      return yield* renderTool(block);
    case "edit":
      return yield section("file_edit", code(block.diff.path), renderDiff(block.diff));
    case "plan":
      yield section("plan", "", "");
      for (const { content, status } of block.entries)
        yield `- [${status === "completed" ? "x" : " "}] ${code(content)}\n`;
      return;
    case "note":
      return yield section(block.type, "", fence(block.text));
    case "end": {
      const facts = `${[block.outcome, ...block.facts].join(" · ")}\n`;
      return yield section(
        block.outcome === "cancelled" ? "cancelled" : "agent_result",
        "",
        block.error === "" ? facts : `${facts}\n${fence(block.error)}`,
      );
    }
    case "other":
      return yield section(block.type, "", fence(JSON.stringify(block.metadata, null, 2) ?? "", "json"));
  }
}

function* renderTool(block: ToolBlock): Generator<string> {
  const facts: string[] = [block.status];
  if (block.durationMs !== null) facts.push(formatDuration(block.durationMs));
  if (block.permission !== "") facts.push(`permission: ${code(block.permission)}`);
  yield section("tool_call", [block.tool, block.title].filter(Boolean).map(code).join(" "), `${facts.join(" · ")}\n`);
  yield `\n${fence(JSON.stringify(block.args, null, 2) ?? "", "json")}`;
  for (const diff of block.diffs) yield `\n${code(diff.path)}\n\n${renderDiff(diff)}`;
  if (block.output !== "") yield `\n${fence(block.output)}`;
  if (block.error !== "") yield `\n${fence(block.error)}`;
}

function renderDiff(diff: FileDiff): string {
  return fence(diff.lines.join("\n"), "diff");
}

function section(type: string, title: string, body: string): string {
  return `### ${code(type)}${title === "" ? "" : ` ${title}`}\n\n${body}`;
}

function fence(text: string, language = ""): string {
  const body = plainText(text);
  const ticks = "`".repeat(Math.max(3, longestRun(body) + 1));
  return `${ticks}${language}\n${body}${body.endsWith("\n") ? "" : "\n"}${ticks}\n`;
}

/** Inline code on one line; blank text is shown as a dash. */
function code(text: string): string {
  const line = plainText(text).replace(/\s+/g, " ").trim();
  if (line === "") return "-";
  const ticks = "`".repeat(longestRun(line) + 1);
  const pad = line.startsWith("`") || line.endsWith("`") ? " " : "";
  return `${ticks}${pad}${line}${pad}${ticks}`;
}

function longestRun(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}
