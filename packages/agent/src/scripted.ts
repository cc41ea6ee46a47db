/** `@chimera/agent/scripted`: a model that plays a script, to test clients and agents without a network. */
import type { Json } from "@chimera/acp-schema/events";
import * as v from "valibot";
import { AgentError } from "./errors.js";
import { parseJson } from "./json.js";
import { systemClock } from "./loop/patience.js";
import type { Model, ModelEvent, ModelMessage, ModelRequest } from "./providers/model.js";

/**
 * The messages of a request alone decide which step of the script answers, so sessions can share it and restarts do not matter.
 *
 * @example
 * const model = createScriptedModel(await readScript("./turns.json"));
 * const agent = createAgent({ resolveModel: () => model });
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

const milliseconds = v.pipe(v.number(), v.minValue(0), v.maxValue(600_000));
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
/** The seal that this model wants back with the part; any JSON. */
const seal = v.optional(v.unknown() as unknown as v.GenericSchema<unknown, Json>);

const Usage = v.strictObject({
  input: v.optional(count, 0),
  output: v.optional(count, 0),
  cacheRead: v.optional(count, 0),
  cacheWrite: v.optional(count, 0),
  reasoning: v.optional(count, 0),
});

const spoken = {
  /** The number of deltas that the text is cut into. */
  chunks: v.optional(v.pipe(count, v.minValue(1)), 1),
  /** Delay before each delta. */
  delayMs: v.optional(milliseconds, 0),
  seal,
};

/** One event of a reply. */
const Item = v.union([
  v.strictObject({ text: v.string(), ...spoken }),
  v.strictObject({ thought: v.string(), ...spoken }),
  v.strictObject({
    call: v.string(),
    /** A string is sent unchanged, so that a script can send broken JSON. */
    args: v.optional(v.union([v.record(v.string(), v.unknown()), v.string()]), {}),
    id: v.optional(v.string(), ""),
    seal,
  }),
  v.strictObject({ usage: Usage }),
  v.strictObject({ delayMs: milliseconds }),
  /** Silence until the turn is cancelled. */
  v.strictObject({ stall: v.literal(true) }),
  /** The connection ends here. */
  v.strictObject({ cut: v.literal(true) }),
  v.strictObject({
    error: v.strictObject({
      code: v.optional(
        v.picklist([
          "rate_limited",
          "provider_failed",
          "connection_lost",
          "context_overflow",
          "unauthorized",
          "bad_request",
        ]),
        "provider_failed",
      ),
      message: v.optional(v.string(), "the script says that the provider failed"),
      retryAfterMs: v.optional(milliseconds),
      /** How many requests fail before the item is skipped. Without it, all fail. */
      times: v.optional(count),
    }),
  }),
]);

/** What the request must contain. Otherwise the turn ends with a `script` error that shows the request. */
const Expect = v.strictObject({
  /** Part of the person's last prompt. */
  prompt: v.optional(v.string()),
  /** Part of the latest tool result. */
  result: v.optional(v.string()),
  /** Part of the system prompt. */
  system: v.optional(v.string()),
  /** Names that must be among the tools. */
  tools: v.optional(v.array(v.string())),
});

const Step = v.strictObject({
  expect: v.optional(Expect, {}),
  reply: v.array(Item),
  stop: v.optional(v.picklist(["end", "calls", "max_tokens", "refusal"]), "end"),
});

/** The file of the scripted provider: what the model will say, turn by turn and step by step. */
const Script = v.strictObject({
  $schema: v.optional(v.string()),
  /** Whether the script starts again after its last turn. */
  repeat: v.optional(v.boolean(), false),
  contextWindow: v.optional(v.pipe(count, v.minValue(1)), 200_000),
  /** The answer to a request to sum the conversation up. */
  summary: v.optional(v.string(), "A summary, as the script has it."),
  /** US dollars per million tokens. */
  price: v.optional(v.strictObject({ input: v.number(), output: v.number() }), { input: 0, output: 0 }),
  turns: v.pipe(v.array(v.strictObject({ steps: v.pipe(v.array(Step), v.minLength(1)) })), v.minLength(1)),
});

export type Script = v.InferOutput<typeof Script>;
export type ScriptInput = v.InferInput<typeof Script>;
type ScriptStep = v.InferOutput<typeof Step>;
type ScriptItem = v.InferOutput<typeof Item>;

/**
 * Validates a script. The error names the first mistake and its place.
 *
 * @example
 * const script = parseScript({ turns: [{ steps: [{ text: "Hello." }] }] });
 */
export function parseScript(value: unknown): Script {
  const parsed = v.safeParse(Script, value);
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  // Never show the received value: a client may name any file as its script, and must not learn its content.
  const place = v.getDotPath(issue) ?? "its top";
  throw new AgentError("script", `the script is wrong at ${place}: expected ${issue.expected}`);
}

/** In bytes; more than any test needs. It bounds reading from a device, which has no end. */
const LARGEST_SCRIPT = 64 * 1024 * 1024;

/**
 * Reads a script from a JSON file. Throws `script` for one that cannot be read or is wrong.
 *
 * @example
 * const model = createScriptedModel(await readScript("./turns.json"));
 */
export async function readScript(path: string): Promise<Script> {
  const [{ readCanonicalText }, { realpath }] = await Promise.all([
    import("./files/canonical-file.js"),
    import("node:fs/promises"),
  ]);
  const read = async () => readCanonicalText(await realpath(path), LARGEST_SCRIPT);
  const text = await read().catch((cause: NodeJS.ErrnoException) => {
    throw new AgentError("script", `the script ${path} cannot be read: ${cause.code ?? cause.message}`, { cause });
  });
  const value = parseJson(text);
  if (value === undefined) throw new AgentError("script", `the script ${path} is not JSON`);
  return parseScript(value);
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
    const got = JSON.stringify(sent.slice(0, 500));
    throw new AgentError("script", `expected a ${what} with ${JSON.stringify(wanted)}, got ${got}`);
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
    yield [{ type: "call", id, name, args, seal }];
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

/** Cuts between code points, so that no character is split. */
function pieces(text: string, chunks: number): string[] {
  if (chunks === 1) return text === "" ? [] : [text];
  const characters = [...text];
  const size = Math.max(1, Math.ceil(characters.length / chunks));
  const cut: string[] = [];
  for (let at = 0; at < characters.length; at += size) cut.push(characters.slice(at, at + size).join(""));
  return cut;
}
