/** Text of a command file -> command. Front matter that cannot be read makes the whole text the body. */
import { basename } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { CommandArg, CustomCommand } from "./command.js";

const FRONT_MATTER = /^---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;

/** Null for an empty file. */
export async function parseCommand(text: string, source: string): Promise<CustomCommand | null> {
  const clean = text.replace(/^\uFEFF/, "");
  if (clean.trim() === "") return null;
  const head = FRONT_MATTER.exec(clean);
  const fields = head ? await readFields(head[1] ?? "") : null;
  const body = withoutOuterBreaks(head && fields ? clean.slice(head[0].length) : clean);
  return {
    name: stringOf(fields?.["name"]) ?? basename(source, ".md"),
    description: stringOf(fields?.["description"]) ?? "",
    args: readArgs(fields?.["args"]),
    body,
    source,
  };
}

// --- internal ---

/** Written as loops, because a regular expression anchored at the end retries at every run of line breaks before it. */
function withoutOuterBreaks(text: string): string {
  const isBreak = (at: number) => text[at] === "\n" || text[at] === "\r";
  let start = 0;
  let end = text.length;
  while (start < end && isBreak(start)) start += 1;
  while (end > start && isBreak(end - 1)) end -= 1;
  return text.slice(start, end);
}

/** A longer document is refused: the parser takes milliseconds for a kilobyte of the worst kind. */
const MAX_CHARS = 8192;

let last: Promise<unknown> = Promise.resolve();

/** Parses one document per turn of the event loop, since the worst take tens of milliseconds. */
function parseYaml(text: string): Promise<unknown> {
  const parsed = last.then(async () => {
    const { parse } = await import("yaml");
    await setImmediate();
    if (text.length > MAX_CHARS) throw new Error(`it has more than ${MAX_CHARS} characters`);
    return parse(text, { maxAliasCount: 0, prettyErrors: false }) as unknown;
  });
  last = parsed.catch(() => {});
  return parsed;
}

async function readFields(yaml: string): Promise<Record<string, unknown> | null> {
  try {
    const value = await parseYaml(yaml);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

function stringOf(value: unknown): string | undefined {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

function readArgs(value: unknown): CommandArg[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item): CommandArg[] => {
    if (typeof item === "string") return [{ name: item, description: "" }];
    if (typeof item !== "object" || item === null) return [];
    const fields = item as Record<string, unknown>;
    const name = stringOf(fields["name"]);
    return name === undefined ? [] : [{ name, description: stringOf(fields["description"]) ?? "" }];
  });
}
