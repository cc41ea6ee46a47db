/** The file of the scripted provider: what the model will say, turn by turn and step by step. */
import type { Json } from "@chimera/acp-schema/events";
import * as v from "valibot";
import { AgentError } from "../../errors.js";

const milliseconds = v.pipe(v.number(), v.minValue(0), v.maxValue(600_000));
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
/** What this model wants back with the part; any JSON. */
const seal = v.optional(v.unknown() as unknown as v.GenericSchema<unknown, Json>);

const Usage = v.strictObject({
  input: v.optional(count, 0),
  output: v.optional(count, 0),
  cacheRead: v.optional(count, 0),
  cacheWrite: v.optional(count, 0),
  reasoning: v.optional(count, 0),
});

/** One thing that happens in a reply, in order. */
const Item = v.union([
  v.strictObject({
    text: v.string(),
    /** Into how many deltas the text is cut. */
    chunks: v.optional(v.pipe(count, v.minValue(1)), 1),
    /** Before each delta. */
    delayMs: v.optional(milliseconds, 0),
    seal,
  }),
  v.strictObject({
    thought: v.string(),
    chunks: v.optional(v.pipe(count, v.minValue(1)), 1),
    delayMs: v.optional(milliseconds, 0),
    seal,
  }),
  v.strictObject({
    call: v.string(),
    /** A string is sent as it stands, so that broken JSON can be tried. */
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
      /** How many requests fail before the item is passed over; without it, all do. */
      times: v.optional(count),
    }),
  }),
]);

/** What the request must contain; anything else ends the turn with a `script` error that says what was sent. */
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

const Script = v.strictObject({
  $schema: v.optional(v.string()),
  /** Start again from the first turn after the last one. */
  repeat: v.optional(v.boolean(), false),
  contextWindow: v.optional(v.pipe(count, v.minValue(1)), 200_000),
  /** What it says when it is asked to sum the conversation up. */
  summary: v.optional(v.string(), "A summary, as the script has it."),
  /** US dollars per million tokens. */
  price: v.optional(v.strictObject({ input: v.number(), output: v.number() }), { input: 0, output: 0 }),
  turns: v.pipe(v.array(v.strictObject({ steps: v.pipe(v.array(Step), v.minLength(1)) })), v.minLength(1)),
});

export type Script = v.InferOutput<typeof Script>;
export type ScriptInput = v.InferInput<typeof Script>;
export type ScriptStep = v.InferOutput<typeof Step>;
export type ScriptItem = v.InferOutput<typeof Item>;

/** Checks a script; the error names the first thing that is wrong and where. */
export function parseScript(value: unknown): Script {
  const parsed = v.safeParse(Script, value);
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  // Not what was received: a client may name any file as its script, and must not learn what is in it.
  throw new AgentError(
    "script",
    `the script is wrong at ${v.getDotPath(issue) ?? "its top"}: expected ${issue.expected}`,
  );
}

export async function readScript(path: string): Promise<Script> {
  const { readFile } = await import("node:fs/promises");
  const text = await readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw new AgentError("script", `the script ${path} cannot be read: ${cause.code ?? cause.message}`, { cause });
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new AgentError("script", `the script ${path} is not JSON`);
  }
  return parseScript(value);
}
