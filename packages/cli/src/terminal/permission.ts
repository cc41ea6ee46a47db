/** Shows a permission request, and parses a person's answer. */
import { DECISION_OF } from "@chimera/acp-schema/conversation";
import type { Decision, Metadata, PermissionChoice, ToolContent } from "@chimera/acp-schema/events";
import { visible } from "@chimera/acp-schema/text";
import type { PermissionAnswer } from "../client/client.js";
import type { Style } from "./style.js";
import { paintOf, plainLine } from "./text.js";

type Request = Metadata<"permission_request">;

interface Answer {
  readonly key: string;
  readonly word: string;
  readonly shown: string;
  readonly means: string;
}

const ANSWERS: Readonly<Record<Decision, Answer>> = {
  allow: { key: "y", word: "yes", shown: "[y]es", means: "do it, this once" },
  always: { key: "a", word: "always", shown: "[a]lways", means: "do it, and do not ask about exactly this here again" },
  deny: { key: "n", word: "no", shown: "[n]o", means: "do not do it, this once" },
  never: { key: "e", word: "never", shown: "n[e]ver", means: "do not do it, and refuse exactly this here from now on" },
};

/** How long no key may come before a key counts as an answer, so that keys typed before the question appeared do not answer it. */
export const PAUSE_MS = 400;

/** Keys for other actions at a question. */
export const EXTRAS = { reason: "r", all: "v", help: "?" } as const;

export interface Question {
  /** The full content of the request. Each line has a margin in front, which the text itself cannot imitate. */
  readonly lines: readonly string[];
  readonly asked: string;
  /** Additional answers of this question. Their keys are their positions, from 1. */
  readonly offered: readonly string[];
}

/** The full text of a permission request. */
export async function permissionQuestion(request: Request, style: Style): Promise<Question> {
  const { content = [{ type: "text" as const, text: JSON.stringify(request.args, null, 2) }] } = request;
  const lines = (await Promise.all(content.map((item) => linesOf(item, style)))).flat();
  const risk = request.risk === "low" ? "" : ` ${style.yellow(`(${request.risk} risk)`)}`;
  const asked = `${style.yellow("?")} ${style.bold(plainLine(request.tool))}`;
  const offered = offeredBy(request).map(({ name }) => plainLine(name));
  if (lines.length === 1) return { lines: [], asked: `${asked} ${lines[0]}${risk}`, offered };
  const { path } = request.args;
  const about = `${typeof path === "string" ? `${plainLine(path)}, ` : ""}the ${lines.length} lines above`;
  return { lines: lines.map((line) => `${style.dim("│")} ${line}`), asked: `${asked} ${about}${risk}`, offered };
}

/** Keeps the first and the last lines of a long text, with a note in between. */
export function folded(lines: readonly string[], most: number, note: (hidden: number) => string): readonly string[] {
  if (lines.length <= most) return lines;
  const end = Math.min(4, Math.floor(most / 3));
  const hidden = lines.length - (most - 1);
  return [...lines.slice(0, most - 1 - end), note(hidden), ...lines.slice(lines.length - end)];
}

/** The mark before an additional answer. */
export function offerLead(at: number): string {
  return `  [${at + 1}] `;
}

/** The usual answers: `[y]es / [a]lways / [n]o / n[e]ver`. */
export function permissionWords(options: readonly Decision[]): string {
  return options.map((option) => ANSWERS[option].shown).join(" / ");
}

export function explainAnswers(request: Request): string[] {
  return [
    ...request.options.map((option) => `${ANSWERS[option].key}  ${ANSWERS[option].means}`),
    ...offeredBy(request).map(({ name }, at) => `${at + 1}  ${plainLine(name)}`),
    `${EXTRAS.reason}  do not do it, and say why`,
    `${EXTRAS.all}  show all of it`,
    "Esc cancels the turn. A paste is not an answer.",
  ];
}

/** Undefined for anything that is not an answer. */
export function parseAnswer(text: string, request: Request): PermissionAnswer | undefined {
  const said = text.trim().toLowerCase();
  const choice = /^[1-9]$/.test(said) ? offeredBy(request)[Number(said) - 1] : undefined;
  if (choice) return { decision: DECISION_OF[choice.kind], choice: choice.id };
  const { options } = request;
  const decision = options.find((option) => [option, ANSWERS[option].key, ANSWERS[option].word].includes(said));
  return decision && { decision };
}

// --- internal ---

/** The choices without a letter: answers that apply to more than this call, and an engine's own. */
function offeredBy({ choices = [] }: Request): readonly PermissionChoice[] {
  return choices.filter(({ id }) => !Object.hasOwn(DECISION_OF, id)).slice(0, 9);
}

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
