/** Plain requests, read without a model: a prompt becomes a list of things to do, as far as it is understood. */
import { startOf } from "@chimera/acp-schema/text";

export type Action =
  | { readonly do: "list"; readonly path: string }
  | { readonly do: "read"; readonly path: string }
  | { readonly do: "search"; readonly pattern: string }
  | { readonly do: "write"; readonly path: string; readonly content: string }
  | { readonly do: "edit"; readonly path: string; readonly from: string; readonly to: string }
  | { readonly do: "run"; readonly command: string }
  | { readonly do: "call"; readonly tool: string; readonly args: string };

/** The actions of a prompt in order, and the first step of it that was not understood. */
export function readRequest(prompt: string): { actions: Action[]; unknown: string | null } {
  const actions: Action[] = [];
  if (prompt.length > LONGEST_PROMPT) return { actions, unknown: startOf(prompt, LONGEST_STEP) };
  for (const step of splitSteps(prompt.trim())) {
    const action = readStep(step);
    if (!action) return { actions, unknown: step };
    actions.push(action);
  }
  return { actions, unknown: null };
}

// --- internal ---

/** Longer ones are not plain requests. */
const LONGEST_PROMPT = 100_000;
const VERBS =
  "list|show|read|open|cat|print|search|grep|find|look|write|create|edit|change|replace|run|execute|call|use";
/** Steps are joined by "and", "then", a comma, a full stop or a new line, and only where the next one starts with a verb. */
const JOINT = new RegExp(
  String.raw`(?:[,;\n]|\.(?=\s)|\b(?:and|then)\b)(?:[\s,]|\b(?:and|then|also|please)\b){0,40}(?=(?:${VERBS})\b)`,
  "iy",
);
/** What is written may hold any of these words; only a "then" ends it. */
const JOINT_AFTER_WRITE = new RegExp(String.raw`(?:,\s*)?\b(?:and\s+)?then\s+(?=(?:${VERBS})\b)`, "iy");
const WRITING = /^(?:please\s+)?(?:write|create)\b/i;

/** Quoted text is passed over whole; each character is looked at once. */
function splitSteps(prompt: string): string[] {
  const steps: string[] = [];
  let start = 0;
  for (let at = 0; at < prompt.length; at++) {
    const closing = closingQuote(prompt, at);
    if (closing > at) {
      at = closing;
      continue;
    }
    const pattern = WRITING.test(prompt.slice(start, start + 40)) ? JOINT_AFTER_WRITE : JOINT;
    pattern.lastIndex = at;
    const found = at > start && pattern.exec(prompt);
    if (!found) continue;
    steps.push(prompt.slice(start, at));
    start = at + found[0].length;
    at = start - 1;
  }
  steps.push(prompt.slice(start));
  return steps.map((step) => step.trim()).filter((step) => step !== "");
}

function closingQuote(text: string, at: number): number {
  if (text.startsWith("```", at)) return text.indexOf("```", at + 3) + 2;
  const quote = text[at];
  if (quote === '"' || quote === "`") return text.indexOf(quote, at + 1);
  // An apostrophe inside a word opens nothing.
  if (quote === "'" && (at === 0 || /\s/.test(text[at - 1] ?? ""))) return text.indexOf(quote, at + 1);
  return -1;
}

const NAME = String.raw`[\x60"']?([^\s\x60"',:;]+)[\x60"']?`;
const POLITE = /^(?:(?:please|can you|could you|would you|now|first|finally)\b[\s,]*)+/i;
const HERE = /^(?:here|\.|(?:this|the|current)\s+(?:directory|folder|project|workspace|repo(?:sitory)?))$/i;

const ROWS: readonly { readonly pattern: RegExp; action(words: readonly string[]): Action }[] = [
  {
    pattern: /^(?:list|show)(?: me)?(?: all)?(?: the)? files(?: (?:in|under|of) (.+))?$/i,
    action: ([path = "."]) => ({ do: "list", path: HERE.test(path) ? "." : unquote(path) }),
  },
  {
    pattern: new RegExp(
      String.raw`^(?:write|create)(?: an?| the)?(?: new)?(?: file)? ${NAME}(?:\s*:|\s+with(?: the)?(?: contents?| text)?:?|\s+containing:?)\s+([\s\S]+)$`,
      "i",
    ),
    action: ([path = "", content = ""]) => ({ do: "write", path, content: unquote(content) }),
  },
  {
    pattern: new RegExp(
      String.raw`^edit(?: the)?(?: file)? ${NAME}[,:]?\s+(?:(?:replace|change)\s+)?(.+?) (?:with|to|by|->) (.+)$`,
      "i",
    ),
    action: ([path = "", from = "", to = ""]) => ({ do: "edit", path, from: unquote(from), to: unquote(to) }),
  },
  {
    pattern: new RegExp(`^(?:replace|change) (.+?) (?:with|to|by) (.+) in(?: the)?(?: file)? ${NAME}$`, "i"),
    action: ([from = "", to = "", path = ""]) => ({ do: "edit", path, from: unquote(from), to: unquote(to) }),
  },
  {
    pattern: /^(?:search|grep|look|find)(?: the (?:files|code|project))?(?: for)? (.+)$/i,
    action: ([pattern = ""]) => ({ do: "search", pattern: unquote(pattern) }),
  },
  {
    pattern: /^(?:run|execute)(?: the)?(?: command)?:? (.+)$/is,
    action: ([command = ""]) => ({ do: "run", command: unquote(command) }),
  },
  {
    pattern: new RegExp(String.raw`^(?:call|use)(?: the)?(?: tool)? ${NAME}(?: with)?\s*(\{[\s\S]*\})?$`, "i"),
    action: ([tool = "", args = "{}"]) => ({ do: "call", tool, args }),
  },
  {
    pattern: /^(?:read|open|show|cat|print)(?: me)?(?: the)?(?: file)? (\S+)$/i,
    action: ([path = ""]) => ({ do: "read", path: unquote(path) }),
  },
];

/** Steps longer than this are only read as something to write. */
const LONGEST_STEP = 2_000;

function readStep(step: string): Action | null {
  const plain = step.replace(POLITE, "");
  if (plain.length > LONGEST_STEP && !WRITING.test(plain)) return null;
  const ended = WRITING.test(plain) ? plain : plain.replace(/[.?!\s]+$/, "");
  for (const { pattern, action } of ROWS) {
    const match = pattern.exec(ended);
    if (match) return action(match.slice(1).map((word) => word?.trim()) as string[]);
  }
  return null;
}

function unquote(text: string): string {
  const quoted = /^(?:\x60{3}[^\n]*\n([\s\S]*?)\n?\x60{3}|\x60([^\x60]*)\x60|"([^"]*)"|'([^']*)')$/.exec(text);
  return quoted ? (quoted.slice(1).find((part) => part !== undefined) ?? "") : text;
}
