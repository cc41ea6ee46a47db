/** The conversation so far as a text, for an engine whose own memory of it is gone. */
import type { Message } from "@chimera/acp-schema/events";
import { endOf, startOf } from "@chimera/acp-schema/text";
import { limits } from "./limits.js";

/** Null where nothing was said yet. The newest messages are kept where not all fit. */
export function retell(history: readonly Message[]): string | null {
  const lines: string[] = [];
  let left: number = limits.retoldChars;
  for (const message of history.toReversed()) {
    const line = lineOf(message);
    if (line === "") continue;
    if (line.length > left) {
      lines.push(`[…] ${endOf(line, left)}`);
      break;
    }
    lines.push(line);
    left -= line.length;
  }
  if (lines.length === 0) return null;
  return `${OPENING}\n\n${lines.reverse().join("\n\n")}\n\n${CLOSING}`;
}

// --- internal ---

const OPENING = "This conversation began in a session that is no longer there. What was said and done so far:";
const CLOSING = "End of what was said so far. Go on from here with the following request:";
const TOOL_CHARS = 200;

function lineOf(message: Message): string {
  switch (message.role) {
    case "user":
      return `User: ${message.text}`;
    case "summary":
      return `Summary of what came before: ${message.text}`;
    case "tool":
      return `[${message.name}${message.success ? "" : " failed"}: ${startOf(message.output.replace(/\s+/g, " "), TOOL_CHARS)}]`;
    case "assistant": {
      const said = message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
      return said === "" ? "" : `Assistant: ${said}`;
    }
  }
}
