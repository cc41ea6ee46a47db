/** An event on one line: its number, its type and what matters of it. */
import type { SessionRecord } from "@chimera/acp-schema/events";
import stringWidth from "string-width";
import { cut } from "../terminal/cut.js";
import { plainLine } from "../terminal/plain.js";
import type { Style } from "../terminal/style.js";

const WIDTH = 100;

export function eventLine(record: SessionRecord, style: Style): string {
  const said = cut(plainLine(gistOf(record)), WIDTH, stringWidth);
  return `${String(record.seq).padStart(6)}  ${style.cyan(record.type.padEnd(20))}${said ? ` ${said}` : ""}`.trimEnd();
}

// --- internal ---

/** By the first of these that a record carries. */
const TELLING = ["text", "title", "error", "message", "output", "chunk", "path", "decision", "stop_reason", "new"];

function gistOf({ metadata }: SessionRecord): string {
  const fields = metadata as Readonly<Record<string, unknown>>;
  const found = TELLING.map((name) => fields[name]).find((value) => typeof value === "string" && value !== "");
  return typeof found === "string" ? found : Object.keys(fields).length > 0 ? JSON.stringify(fields) : "";
}
