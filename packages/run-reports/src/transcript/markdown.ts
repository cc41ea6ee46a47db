/** Renders Markdown. All text of the session is in fences that are longer than its backticks, so that none becomes markup. */
import type { Block, FileDiff, ToolBlock } from "./block.js";
import type { Heading } from "./heading.js";
import { formatDuration, plainText } from "./text.js";

export async function* renderMarkdown(heading: Heading, blocks: AsyncIterable<Block>): AsyncGenerator<string> {
  yield `# ${heading.program} session ${code(heading.id)}\n\n`;
  for (const [label, value] of heading.rows)
    yield `- ${label}: ${PLAIN_VALUE.test(value) && label !== "model" ? value : code(value)}\n`;
  yield "\n## Conversation\n";
  let empty = true;
  for await (const block of blocks) {
    empty = false;
    yield "\n";
    yield* renderBlock(block, heading.program);
  }
  if (empty && heading.prompt !== "") yield `\n### You\n\n${fence(heading.prompt)}`;
  if (empty) yield "\n_(no events recorded)_\n";
}

// --- internal ---

/** Matches times and numbers, which cannot be markup. */
const PLAIN_VALUE = /^[A-Za-z0-9:.+-]+$/;

/** Yields a block in parts, because it may have several long texts. */
function* renderBlock(block: Block, program: string, mark = "###"): Generator<string> {
  const section = (title: string, body: string) => `${mark} ${title}\n\n${body}`;
  switch (block.kind) {
    case "prompt":
      return yield section(block.origin === null ? "You" : `You, from ${code(block.origin)}`, fence(block.text));
    case "answer":
      return yield section(program || "Agent", fence(block.text, "markdown"));
    case "thought":
      return yield section("Thought", fence(block.text));
    case "tool":
      yield section([block.tool, block.title].filter(Boolean).map(code).join(" "), toolFacts(block));
      return yield* toolParts(block, (part) => renderBlock(part, program, `${mark}#`));
    case "edit":
      return yield section(`Edit of ${code(block.diff.path)}`, renderDiff(block.diff));
    case "plan":
      yield section("Plan", "");
      for (const { content, status } of block.entries)
        yield `- [${status === "completed" ? "x" : " "}] ${code(content)}\n`;
      return;
    case "note":
      return yield block.text.includes("\n") ? section("Note", fence(block.text)) : `> ${code(block.text)}\n`;
    case "end": {
      const facts = `_${[block.outcome, ...block.facts].join(" · ")}_\n`;
      return yield block.error === "" ? facts : `${facts}\n${fence(block.error)}`;
    }
    case "other":
      return yield section(code(block.type), fence(JSON.stringify(block.metadata, null, 2) ?? "", "json"));
  }
}

function toolFacts(block: ToolBlock): string {
  const facts: string[] = [block.status];
  if (block.durationMs !== null) facts.push(formatDuration(block.durationMs));
  if (block.permission !== "") facts.push(`permission: ${code(block.permission)}`);
  return `${facts.join(" · ")}\n`;
}

/** @param show renders the work of another agent, which comes between its task and its report */
function* toolParts(block: ToolBlock, show: (part: Block) => Generator<string>): Generator<string> {
  // A diff has all information of an edit's arguments, and is easier to read.
  if (block.diffs.length === 0) yield `\n${fence(JSON.stringify(block.args, null, 2) ?? "", "json")}`;
  for (const part of block.inside) {
    yield "\n";
    yield* show(part);
  }
  for (const diff of block.diffs) yield `\n${code(diff.path)}\n\n${renderDiff(diff)}`;
  if (block.output !== "") yield `\n${fence(block.output)}`;
  if (block.error !== "") yield `\n${fence(block.error)}`;
}

function renderDiff(diff: FileDiff): string {
  return fence(diff.lines.join("\n"), "diff");
}

function fence(text: string, language = ""): string {
  const body = plainText(text);
  const ticks = "`".repeat(Math.max(3, longestRun(body) + 1));
  return `${ticks}${language}\n${body}${body.endsWith("\n") ? "" : "\n"}${ticks}\n`;
}

/** Inline code on one line; a dash for a blank text. */
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
