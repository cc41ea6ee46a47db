/** A permission request in words, and the answers a person can type. */
import type { Decision, Metadata, ToolContent } from "@chimera/acp-schema/events";
import { visible } from "@chimera/acp-schema/text";
import type { Style } from "./style.js";
import { plainLine } from "./text.js";

const ANSWERS: Readonly<Record<string, Decision>> = {
  y: "allow",
  yes: "allow",
  allow: "allow",
  n: "deny",
  no: "deny",
  deny: "deny",
  a: "always",
  always: "always",
  never: "never",
};

const WORDS: Readonly<Record<Decision, string>> = { allow: "[y]es", deny: "[n]o", always: "[a]lways", never: "never" };

/** All of what is asked for, behind a margin that no text can draw, and then the question. */
export async function permissionQuestion(request: Metadata<"permission_request">, style: Style): Promise<string> {
  const { content = [{ type: "text" as const, text: JSON.stringify(request.args, null, 2) }] } = request;
  const lines = (await Promise.all(content.map((item) => linesOf(item, style)))).flat();
  const risk = request.risk === "low" ? "" : ` ${style.yellow(`(${request.risk} risk)`)}`;
  const asked = `${style.yellow("?")} ${style.bold(plainLine(request.tool))}`;
  if (lines.length === 1) return `${asked} ${lines[0]}${risk}`;
  const { path } = request.args;
  const about = `${typeof path === "string" ? `${plainLine(path)}, ` : ""}the ${lines.length} lines above`;
  return [...lines.map((line) => `${style.dim("│")} ${line}`), `${asked} ${about}${risk}`].join("\n");
}

/** The answers it takes: `[y]es / [n]o / [a]lways / never`. */
export function permissionWords(options: readonly Decision[]): string {
  return options.map((option) => WORDS[option]).join(" / ");
}

/** Undefined for anything that is no answer. */
export function parseAnswer(text: string, options: readonly Decision[]): Decision | undefined {
  const word = text.trim().toLowerCase();
  const decision = Object.hasOwn(ANSWERS, word) ? ANSWERS[word] : undefined;
  return decision && options.includes(decision) ? decision : undefined;
}

/** How a line of a unified diff is coloured. */
export function paintOf(line: string, style: Style): (text: string) => string {
  if (line.startsWith("+")) return style.green;
  if (line.startsWith("-")) return style.red;
  return line.startsWith("@@") ? style.cyan : style.dim;
}

// --- internal ---

async function linesOf(item: ToolContent, style: Style): Promise<string[]> {
  if (item.type === "text") return visible(item.text).split("\n");
  if (item.type !== "diff") return [];
  const { unifiedHunks } = await import("@chimera/snapshot-store/files");
  const hunks = (await unifiedHunks(item.old_text ?? "", item.new_text)) ?? "";
  const heading = `${item.old_text === null ? "new file" : "change of"} ${item.path}`;
  return visible(`${heading}\n${hunks.trimEnd()}`)
    .split("\n")
    .map((line) => paintOf(line, style)(line));
}
