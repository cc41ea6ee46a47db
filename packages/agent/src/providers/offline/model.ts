/** The model that is always there: it takes plain requests literally, calls the tools, and says that it is no model. */
import { startOf } from "@chimera/acp-schema/text";
import { AgentError } from "../../errors.js";
import type { Model, ModelEvent, ModelMessage, ModelTool } from "../model.js";
import { type Action, readRequest } from "./request.js";

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

const WHOAMI =
  "I am the offline interpreter, not a language model: no API key is set. Set ANTHROPIC_API_KEY, OPENAI_API_KEY, " +
  "OPENROUTER_API_KEY or XAI_API_KEY (or run Ollama and choose one of its models) to talk to one.";
const ABILITIES =
  "Until then I can do plain things: `list files`, `read FILE`, `search TEXT`, `write FILE: TEXT`, " +
  "`edit FILE replace A with B`, run `COMMAND`, and several of these joined by `and` or `then`.";

type Result = Extract<ModelMessage, { role: "tool" }>;

/** The whole reply follows from the conversation: what was asked, and which of its steps have results. */
function reply(messages: readonly ModelMessage[], tools: readonly ModelTool[]): ModelEvent[] {
  const promptAt = messages.findLastIndex((message) => message.role === "user");
  const prompt = messages[promptAt];
  const asked = prompt?.role === "user" ? prompt.text : "";
  const results = messages.slice(promptAt + 1).filter((message) => message.role === "tool");
  const { actions, unknown } = readRequest(asked);

  const failed = results.findIndex((result) => !result.success);
  const retry = failed === results.length - 1 ? secondTry(actions[failed], results[failed]) : null;
  if (actions.length === 0) return say(`${WHOAMI}\n\n${ABILITIES}`);
  if (failed >= 0 && !retry) return say(report(actions, results, unknown));
  const next = retry ?? actions[results.filter((result) => result.success).length];
  if (!next) return say(report(actions, results, unknown));
  const call = callOf(next, tools, results);
  if (!call) return say(`${report(actions, results, unknown)}\n\nThere is no tool for: ${describe(next)}`);
  const opening: ModelEvent[] = results.length === 0 ? [{ type: "text", text: `${intent(actions)}\n` }] : [];
  return [...opening, { type: "call", id: "", ...call }, { type: "stop", reason: "calls" }];
}

function say(text: string): ModelEvent[] {
  const words = text.match(/\S+\s*|\s+/g) ?? [];
  return [...words.map((word) => ({ type: "text" as const, text: word })), { type: "stop", reason: "end" }];
}

function intent(actions: readonly Action[]): string {
  const said = actions.map(describe).join(", then ");
  return `${said.charAt(0).toUpperCase()}${said.slice(1)} (offline: taken literally).`;
}

function describe(action: Action): string {
  switch (action.do) {
    case "list":
      return `list the files in ${action.path}`;
    case "read":
    case "write":
    case "edit":
      return `${action.do} ${action.path}`;
    case "search":
      return `search for ${action.pattern}`;
    case "run":
      return `run ${action.command}`;
    case "call":
      return `call ${action.tool}`;
  }
}

/** "read README" means the file of that name with whatever ending it has. */
function secondTry(action: Action | undefined, result: Result | undefined): Action | null {
  if (action?.do !== "read" || !result || result.success || /\.[^/]*$/.test(action.path)) return null;
  return { ...action, path: `${action.path}.md` };
}

/** A first try that a second one made good is not worth telling. */
function withoutRetried(actions: readonly Action[], results: readonly Result[]): Result[] {
  const settled: Result[] = [];
  for (const [index, result] of results.entries()) {
    const retried = index < results.length - 1 && secondTry(actions[settled.length], result) !== null;
    if (!retried) settled.push(result);
  }
  return settled;
}

const LONGEST_SHOWN = 4_000;

function report(actions: readonly Action[], results: readonly Result[], unknown: string | null): string {
  const settled = withoutRetried(actions, results);
  const parts = settled.map((result, index) => {
    const action = actions[Math.min(index, actions.length - 1)] as Action;
    const output =
      result.output.length > LONGEST_SHOWN ? `${startOf(result.output, LONGEST_SHOWN)}\n[…]` : result.output;
    return `${result.success ? "Done" : "Failed"}: ${describe(action)}\n\n${fenced(output)}`;
  });
  const left = actions.slice(settled.length).map(describe);
  if (left.length > 0) parts.push(`Not done: ${left.join(", ")}.`);
  if (unknown) parts.push(`Not understood: ${JSON.stringify(startOf(unknown, 200))}. ${ABILITIES}`);
  parts.push(WHOAMI);
  return parts.join("\n\n");
}

function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

type Wanted = { readonly names: readonly string[]; readonly args: Record<string, unknown> | string };

function wantedTool(action: Action, results: readonly Result[]): Wanted {
  switch (action.do) {
    case "list":
      return { names: ["list_files", "Glob"], args: { path: action.path } };
    case "read":
      return { names: ["Read", "read_file"], args: { path: listedAs(action.path, results) } };
    case "search":
      return { names: ["search", "Grep"], args: { pattern: action.pattern } };
    case "write":
      return { names: ["Write", "write_file"], args: { path: action.path, content: action.content } };
    case "edit":
      return {
        names: ["Edit", "edit_file"],
        args: { path: action.path, old_string: action.from, new_string: action.to },
      };
    case "run":
      return { names: ["Bash", "bash"], args: { command: action.command } };
    case "call":
      return { names: [action.tool], args: action.args };
  }
}

function callOf(action: Action, tools: readonly ModelTool[], results: readonly Result[]) {
  const { names, args } = wantedTool(action, results);
  const tool = tools.find((offered) => names.some((name) => name.toLowerCase() === offered.name.toLowerCase()));
  return tool && { name: tool.name, args: typeof args === "string" ? args : JSON.stringify(args) };
}

/** A file that an earlier step listed is called by the name it has there, whatever case and ending the request used. */
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
