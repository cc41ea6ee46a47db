/** A model that says what a script tells it to: for tests, and for authors of clients. */
import { AgentError } from "../../errors.js";
import { systemClock } from "../../loop/patience.js";
import type { Model, ModelEvent, ModelMessage, ModelRequest } from "../model.js";
import type { Script, ScriptItem, ScriptStep } from "./script.js";

/**
 * Where a request is in the script follows from its messages alone (how many prompts, and how many replies since the last
 * one), so any number of sessions can share a script and a restart changes nothing.
 */
export function createScriptedModel(script: Script): Model {
  const failures = new Map<ScriptItem, number>();
  return {
    provider: "scripted",
    id: "scripted",
    contextWindow: script.contextWindow,
    price: { ...script.price, cacheRead: script.price.input, cacheWrite: script.price.input },
    async *stream(request) {
      if (request.summary) {
        yield [
          { type: "text", text: script.summary },
          { type: "stop", reason: "end" },
        ];
        return;
      }
      const step = findStep(script, request.messages);
      check(step, request);
      for (const item of step.reply) yield* play(item, request.signal, failures);
      const calls = step.reply.some((item) => "call" in item);
      yield [{ type: "stop", reason: step.stop === "end" && calls ? "calls" : step.stop }];
    },
  };
}

// --- internal ---

function findStep(script: Script, messages: readonly ModelMessage[]): ScriptStep {
  const prompts = messages.filter(isPrompt).length;
  const since = messages.slice(messages.findLastIndex(isPrompt));
  const replies = since.filter((message) => message.role === "assistant").length;
  const index = Math.max(0, prompts - 1);
  const turn = script.turns[script.repeat ? index % script.turns.length : index];
  const step = turn?.steps[replies];
  if (!step) throw new AgentError("script", `the script has no step ${replies} in turn ${index}`);
  return step;
}

function isPrompt(message: ModelMessage): message is Extract<ModelMessage, { role: "user" }> {
  return message.role === "user" && !message.note;
}

function check({ expect }: ScriptStep, request: ModelRequest): void {
  const prompt = request.messages.findLast(isPrompt)?.text ?? "";
  const result = request.messages.findLast((message) => message.role === "tool")?.output ?? "";
  const parts = [
    ["prompt", expect.prompt, prompt],
    ["result", expect.result, result],
    ["system", expect.system, request.system],
  ] as const;
  for (const [what, wanted, sent] of parts) {
    if (wanted === undefined || sent.includes(wanted)) continue;
    throw new AgentError(
      "script",
      `expected a ${what} with ${JSON.stringify(wanted)}, got ${JSON.stringify(sent.slice(0, 500))}`,
    );
  }
  const missing = expect.tools?.find((name) => !request.tools.some((tool) => tool.name === name));
  if (missing !== undefined) throw new AgentError("script", `expected a tool named ${JSON.stringify(missing)}`);
}

async function* play(
  item: ScriptItem,
  signal: AbortSignal,
  failures: Map<ScriptItem, number>,
): AsyncGenerator<readonly ModelEvent[]> {
  if ("text" in item || "thought" in item) {
    const [type, whole] = "text" in item ? (["text", item.text] as const) : (["reasoning", item.thought] as const);
    for (const text of pieces(whole, item.chunks)) {
      if (item.delayMs > 0) await systemClock.sleep(item.delayMs, signal);
      yield [{ type, text }];
    }
    if (item.seal !== undefined) yield [{ type: "part_end", kind: type, seal: item.seal }];
  } else if ("call" in item) {
    const args = typeof item.args === "string" ? item.args : JSON.stringify(item.args);
    const { id, call: name, seal } = item;
    yield [{ type: "call", id, name, args, ...(seal !== undefined && { seal }) }];
  } else if ("usage" in item) yield [{ type: "usage", usage: item.usage }];
  else if ("delayMs" in item) await systemClock.sleep(item.delayMs, signal);
  else if ("stall" in item) await systemClock.sleep(2 ** 31 - 1, signal);
  else if ("cut" in item) throw new AgentError("connection_lost", "the script cuts the connection here");
  else fail(item, failures);
}

function fail(item: Extract<ScriptItem, { error: unknown }>, failures: Map<ScriptItem, number>): void {
  const { code, message, retryAfterMs, times } = item.error;
  const before = failures.get(item) ?? 0;
  if (times !== undefined && before >= times) return;
  failures.set(item, before + 1);
  throw new AgentError(code, message, { retryAfterMs });
}

/** By code points, so that no character is torn. */
function pieces(text: string, chunks: number): string[] {
  if (chunks === 1) return text === "" ? [] : [text];
  const characters = [...text];
  const size = Math.max(1, Math.ceil(characters.length / chunks));
  const cut: string[] = [];
  for (let at = 0; at < characters.length; at += size) cut.push(characters.slice(at, at + size).join(""));
  return cut;
}
