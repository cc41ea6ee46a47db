import type { Steps } from "../pacer.js";

/** Members between two looks at the clock. */
const STRETCH = 500;
/** What lies deeper is small. */
const MAX_DEPTH = 2;

/** The text that `JSON.stringify(value, null, indent)` gives of plain data, step by step: a turn may touch 100,000 files. */
export function* stringifying(value: unknown, indent = 0, depth = 0): Steps<string> {
  const newline = (by: number) => (indent === 0 ? "" : `\n${" ".repeat(indent * by)}`);
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) {
    return JSON.stringify(value, null, indent).replaceAll("\n", newline(depth));
  }
  const isList = Array.isArray(value);
  const members: string[] = [];
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const text = yield* stringifying(member, indent, depth + 1);
    members.push(isList ? text : `${JSON.stringify(key)}:${indent === 0 ? "" : " "}${text}`);
    if (members.length % STRETCH === 0) yield;
  }
  const [open, close] = isList ? "[]" : "{}";
  if (members.length === 0) return `${open}${close}`;
  return `${open}${newline(depth + 1)}${members.join(`,${newline(depth + 1)}`)}${newline(depth)}${close}`;
}
