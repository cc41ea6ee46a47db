/** An interpreter that works without any model: it takes plain requests literally, calls the tools, and says what it is. */
import { startOf } from "@chimera/acp-schema/text";
import { AgentError } from "../errors.js";
import { anthropicFirst } from "./chains.js";
import type { Model, ModelEvent, ModelMessage, ModelTool } from "./model.js";

/**
 * A small deterministic model that needs no network: it understands plain requests, and really calls the tools.
 *
 * @example
 * const agent = createAgent({ resolveModel: () => createOfflineModel() });
 */
export function createOfflineModel(): Model {
  return {
    provider: "offline",
    id: "offline",
    contextWindow: 1_000_000,
    price: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    async *stream({ messages, tools, summary }) {
      if (summary) throw new AgentError("bad_request", "the offline interpreter cannot sum a conversation up");
      yield reply(messages, tools);
    },
  };
}

// --- internal ---

/** One step of a prompt: a description, and a call of the first of these tools that is available. */
interface Action {
  readonly says: string;
  readonly tools: readonly string[];
  /** A string is JSON as the person typed it. */
  readonly args: Readonly<Record<string, string>> | string;
}

/** The actions of a prompt in order, and the first step that the interpreter does not understand. */
function readRequest(prompt: string): { actions: Action[]; unknown: string | null } {
  const actions: Action[] = [];
  if (prompt.length > LONGEST_PROMPT) return { actions, unknown: startOf(prompt, LONGEST_STEP) };
  for (const step of splitSteps(prompt.trim())) {
    const action = readStep(step);
    if (!action) return { actions, unknown: step };
    actions.push(action);
  }
  return { actions, unknown: null };
}

/** Shown once per session. */
const KEYS = anthropicFirst.map(({ env }) => env).join(", ");
const WHOAMI = `The offline interpreter answers, not a model. For a model set one of ${KEYS}, or run Ollama and choose one of its models.`;
const ABILITIES =
  "Offline I can do plain things: `list files`, `read FILE`, `search TEXT`, `write FILE: TEXT`, " +
  "`edit FILE replace A with B`, run `COMMAND`, and several of these joined by `and` or `then`.";

type Result = Extract<ModelMessage, { role: "tool" }>;

/** Derives the reply from the conversation alone: from the request, and from the steps that have results. */
function reply(messages: readonly ModelMessage[], tools: readonly ModelTool[]): ModelEvent[] {
  const promptAt = messages.findLastIndex((message) => message.role === "user");
  const prompt = messages[promptAt];
  const asked = prompt?.role === "user" ? prompt.text : "";
  const results = messages.slice(promptAt + 1).filter((message) => message.role === "tool");
  const { actions, unknown } = readRequest(asked);
  const isFirst = !messages.slice(0, Math.max(0, promptAt)).some((message) => message.role === "assistant");
  const introduced = (text: string) => say(isFirst ? `${text}\n\n${WHOAMI}` : text);

  const failed = results.findIndex((result) => !result.success);
  const retry = failed === results.length - 1 ? secondTry(actions[failed], results[failed]) : null;
  if (actions.length === 0) return introduced(`${declined(asked)}${ABILITIES}`);
  if (failed >= 0 && !retry) return introduced(report(actions, results, unknown));
  const next = retry ?? actions[results.filter((result) => result.success).length];
  if (!next) return introduced(report(actions, results, unknown));
  const call = callOf(next, tools, results);
  if (!call) return introduced(`${report(actions, results, unknown)}\n\nThere is no tool for: ${next.says}`.trim());
  const opening: ModelEvent[] = results.length === 0 ? [{ type: "text", text: `${intent(actions)}\n` }] : [];
  return [...opening, { type: "call", id: "", ...call }, { type: "stop", reason: "calls" }];
}

/** Begins with the request, because a session's title is the first line of its first answer and should distinguish sessions. */
function declined(asked: string): string {
  const line = asked.match(/\S.*/)?.[0].trimEnd();
  return line === undefined ? "" : `“${startOf(line, LONGEST_QUOTED)}” needs a model.\n\n`;
}

function say(text: string): ModelEvent[] {
  const words = text.match(/\S+\s*|\s+/g) ?? [];
  return [...words.map((word) => ({ type: "text" as const, text: word })), { type: "stop", reason: "end" }];
}

function intent(actions: readonly Action[]): string {
  const said = actions.map(({ says }) => says).join(", then ");
  return `${said.charAt(0).toUpperCase()}${said.slice(1)} (offline: taken literally).`;
}

/** After "read README" fails, tries README.md. */
function secondTry(action: Action | undefined, result: Result | undefined): Action | null {
  const path = action && readPath(action);
  return path === undefined || !result || result.success || /\.[^/]*$/.test(path) ? null : read(`${path}.md`);
}

/** Leaves out a failed read that the second try replaced. */
function withoutRetried(actions: readonly Action[], results: readonly Result[]): Result[] {
  const settled: Result[] = [];
  for (const [index, result] of results.entries()) {
    const retried = index < results.length - 1 && secondTry(actions[settled.length], result) !== null;
    if (!retried) settled.push(result);
  }
  return settled;
}

const LONGEST_SHOWN = 4_000;
const LONGEST_QUOTED = 200;

function report(actions: readonly Action[], results: readonly Result[], unknown: string | null): string {
  const settled = withoutRetried(actions, results);
  const parts = settled.map((result, index) => {
    const action = actions[Math.min(index, actions.length - 1)] as Action;
    const output =
      result.output.length > LONGEST_SHOWN ? `${startOf(result.output, LONGEST_SHOWN)}\n[…]` : result.output;
    return `${result.success ? "Done" : "Failed"}: ${action.says}\n\n${fenced(output)}`;
  });
  const left = actions.slice(settled.length).map(({ says }) => says);
  if (left.length > 0) parts.push(`Not done: ${left.join(", ")}.`);
  if (unknown) parts.push(`Not understood: ${JSON.stringify(startOf(unknown, LONGEST_QUOTED))}. ${ABILITIES}`);
  return parts.join("\n\n");
}

function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

function callOf(action: Action, offered: readonly ModelTool[], results: readonly Result[]) {
  const path = readPath(action);
  const args = path === undefined ? action.args : { path: listedAs(path, results) };
  const tool = offered.find(({ name }) => action.tools.some((one) => one.toLowerCase() === name.toLowerCase()));
  return tool && { name: tool.name, args: typeof args === "string" ? args : JSON.stringify(args) };
}

/** Corrects the case and the ending of a file name if an earlier step listed the file. */
function listedAs(path: string, results: readonly Result[]): string {
  const wanted = path.toLowerCase();
  for (const { output } of results) {
    const lines = output
      .slice(0, 100_000)
      .split("\n")
      .map((line) => line.trim().replace(/^\.\//, ""));
    const exact = lines.find((line) => line === path);
    const close = lines.find(
      (line) => line.toLowerCase() === wanted || line.toLowerCase().replace(/\.\w+$/, "") === wanted,
    );
    if (exact ?? close) return (exact ?? close) as string;
  }
  return path;
}

/** Longer prompts are not plain requests. */
const LONGEST_PROMPT = 100_000;
const VERBS =
  "list|show|read|open|cat|print|search|grep|find|look|write|create|edit|change|replace|run|execute|call|use";
/** "and", "then", a comma, a full stop or a new line separates two steps, if the next one starts with a verb. */
const JOINT = new RegExp(
  String.raw`(?:[,;\n]|\.(?=\s)|\b(?:and|then)\b)(?:[\s,]|\b(?:and|then|also|please)\b){0,40}(?=(?:${VERBS})\b)`,
  "iy",
);
/** The text to write may contain any of these words, so only "then" ends such a step. */
const JOINT_AFTER_WRITE = new RegExp(String.raw`(?:,\s*)?\b(?:and\s+)?then\s+(?=(?:${VERBS})\b)`, "iy");
const WRITING = /^(?:please\s+)?(?:write|create)\b/i;

/** Skips quoted text. Looks at each character once. */
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
  // An apostrophe inside a word does not open a quotation.
  if (quote === "'" && (at === 0 || /\s/.test(text[at - 1] ?? ""))) return text.indexOf(quote, at + 1);
  return -1;
}

const NAME = String.raw`[\x60"']?([^\s\x60"',:;]+)[\x60"']?`;
const POLITE = /^(?:(?:please|can you|could you|would you|now|first|finally)\b[\s,]*)+/i;
const HERE = /^(?:here|\.|(?:this|the|current)\s+(?:directory|folder|project|workspace|repo(?:sitory)?))$/i;

const list = (path: string): Action => ({
  says: `list the files in ${path}`,
  tools: ["list_files", "Glob"],
  args: { path },
});
const READ = ["Read", "read_file"];
const read = (path: string): Action => ({ says: `read ${path}`, tools: READ, args: { path } });
const edit = (path: string, from: string, to: string): Action => ({
  says: `edit ${path}`,
  tools: ["Edit", "edit_file"],
  args: { path, old_string: unquote(from), new_string: unquote(to) },
});

/** The path of an action that reads a file. */
function readPath({ tools, args }: Action): string | undefined {
  return tools === READ && typeof args === "object" ? args["path"] : undefined;
}

const ROWS: readonly { readonly pattern: RegExp; action(words: readonly string[]): Action }[] = [
  {
    pattern: /^(?:list|show)(?: me)?(?: all)?(?: the)? files(?: (?:in|under|of) (.+))?$/i,
    action: ([path = "."]) => list(HERE.test(path) ? "." : unquote(path)),
  },
  {
    pattern: new RegExp(
      String.raw`^(?:write|create)(?: an?| the)?(?: new)?(?: file)? ${NAME}(?:\s*:|\s+with(?: the)?(?: contents?| text)?:?|\s+containing:?)\s+([\s\S]+)$`,
      "i",
    ),
    action: ([path = "", content = ""]) => ({
      says: `write ${path}`,
      tools: ["Write", "write_file"],
      args: { path, content: unquote(content) },
    }),
  },
  {
    pattern: new RegExp(
      String.raw`^edit(?: the)?(?: file)? ${NAME}[,:]?\s+(?:(?:replace|change)\s+)?(.+?) (?:with|to|by|->) (.+)$`,
      "i",
    ),
    action: ([path = "", from = "", to = ""]) => edit(path, from, to),
  },
  {
    pattern: new RegExp(`^(?:replace|change) (.+?) (?:with|to|by) (.+) in(?: the)?(?: file)? ${NAME}$`, "i"),
    action: ([from = "", to = "", path = ""]) => edit(path, from, to),
  },
  {
    pattern: /^(?:search|grep|look|find)(?: the (?:files|code|project))?(?: for)? (.+)$/i,
    action: ([wanted = ""]) => {
      const pattern = unquote(wanted);
      return { says: `search for ${pattern}`, tools: ["search", "Grep"], args: { pattern } };
    },
  },
  {
    pattern: /^(?:run|execute)(?: the)?(?: command)?:? (.+)$/is,
    action: ([line = ""]) => {
      const command = unquote(line);
      return { says: `run ${command}`, tools: ["Bash", "bash"], args: { command } };
    },
  },
  {
    pattern: new RegExp(String.raw`^(?:call|use)(?: the)?(?: tool)? ${NAME}(?: with)?\s*(\{[\s\S]*\})?$`, "i"),
    action: ([tool = "", args = "{}"]) => ({ says: `call ${tool}`, tools: [tool], args }),
  },
  {
    pattern: /^(?:read|open|show|cat|print)(?: me)?(?: the)?(?: file)? (\S+)$/i,
    action: ([path = ""]) => read(unquote(path)),
  },
];

/** Of longer steps only those that write a file are understood. */
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
