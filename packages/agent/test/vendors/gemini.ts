/** Google: generateContent (https://ai.google.dev/api/generate-content). */
import type { Loose, ModelReply, Said, Vendor } from "./vendor.js";
import { argsText, createIds, piecesOf, Refusal, sse, unknownKey } from "./vendor.js";

export interface GeminiOptions {
  readonly model?: string;
  /** Whether calls are signed and thinking has levels, as from Gemini 3 on. @defaultValue true */
  readonly third?: boolean;
  /** Whether calls have ids. @defaultValue false */
  readonly callIds?: boolean;
}

export function createGemini({
  model = "gemini-3.1-pro-preview",
  third = true,
  callIds = false,
}: GeminiOptions = {}): Vendor {
  const ids = createIds();
  /** Signature -> its part. */
  const signed = new Map<string, Loose>();
  const sent: Loose[] = [];
  return {
    sent,
    repliesIn: ({ contents }) => contents.flatMap(({ role, parts }: Loose) => (role === "model" ? [parts] : [])),
    name: `Gemini (${model})`,
    model,
    env: (url) => ({ GEMINI_API_KEY: "g", GEMINI_BASE_URL: url }),
    answer({ method, path, headers, body }, next) {
      if (method !== "POST" || path !== `/v1beta/models/${model}:streamGenerateContent?alt=sse`)
        refuse(404, "NOT_FOUND", `models/${path} is not found for API version v1beta`);
      if (!headers["x-goog-api-key"])
        refuse(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers. Please use API Key.");
      checkFields(body, third);
      checkTurns(body.contents);
      checkSignatures(body.contents, signed, third);
      const reply = next();
      const parts = partsOf(reply.says, { ids, third, callIds });
      for (const part of parts) if (part.thoughtSignature) signed.set(part.thoughtSignature, part);
      sent.push(asSent(parts.filter((part) => isShown(part, body))));
      return { stream: streamOf(reply, parts, body) };
    },
  };
}

// --- internal ---

/** https://ai.google.dev/gemini-api/docs/troubleshooting */
function refuse(code: number, status: string, message: string): never {
  throw new Refusal(code, { error: { code, message, status } }, message);
}

function invalid(message: string): never {
  return refuse(400, "INVALID_ARGUMENT", message);
}

const PART_FIELDS = ["text", "thought", "thoughtSignature", "inlineData", "functionCall", "functionResponse"];

function checkFields(body: Loose, third: boolean): void {
  checkNames(body, ["contents", "systemInstruction", "tools", "generationConfig"], "");
  checkNames(body.generationConfig ?? {}, ["thinkingConfig"], "generation_config");
  const thinking = body.generationConfig?.thinkingConfig ?? {};
  checkNames(thinking, ["includeThoughts", "thinkingLevel", "thinkingBudget"], "generation_config.thinking_config");
  // https://ai.google.dev/gemini-api/docs/thinking#thinking-levels
  if (thinking.thinkingLevel && !third) invalid("Thinking level is not supported for this model.");
  if (thinking.thinkingLevel && thinking.thinkingBudget)
    invalid("You can only set only one of thinking budget and thinking level.");
  if (!Array.isArray(body.contents) || body.contents.length === 0)
    invalid("* GenerateContentRequest.contents: contents is not specified");
  body.contents.forEach(({ role, parts, ...rest }: Loose, at: number) => {
    checkNames(rest, [], `contents[${at}]`);
    if (role !== "user" && role !== "model") invalid("Please use a valid role: user, model.");
    if (!parts?.length) invalid(`* GenerateContentRequest.contents[${at}].parts: contents.parts must not be empty.`);
    for (const part of parts) checkNames(part, PART_FIELDS, `contents[${at}].parts`);
  });
}

/** The vendor refuses unknown field names. */
function checkNames(value: object, known: readonly string[], where: string): void {
  const extra = unknownKey(value, known);
  if (extra) invalid(`Invalid JSON payload received. Unknown name "${extra}" at '${where}': Cannot find field.`);
}

/** https://ai.google.dev/gemini-api/docs/function-calling */
function checkTurns(contents: Loose[]): void {
  contents.forEach(({ parts }, at) => {
    const calls = parts.filter((part: Loose) => part.functionCall);
    if (calls.length > 0 && contents[at - 1]?.role !== "user")
      invalid(
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
      );
    const results = (contents[at + 1]?.parts ?? []).filter((part: Loose) => part.functionResponse);
    if (calls.length !== (calls.length > 0 || results.length > 0 ? results.length : 0))
      invalid(
        "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
      );
    calls.forEach(({ functionCall }: Loose, index: number) => {
      const { functionResponse } = results[index];
      if (functionResponse.name !== functionCall.name || functionResponse.id !== functionCall.id)
        invalid("Please ensure that function response turn comes immediately after a function call turn.");
    });
  });
}

/** https://ai.google.dev/gemini-api/docs/thought-signatures; words: the same page, and erain/glue 1.8.0 */
function checkSignatures(contents: Loose[], sent: Map<string, Loose>, third: boolean): void {
  contents.forEach(({ role, parts }, at) => {
    if (role !== "model") return;
    parts.forEach((part: Loose) => {
      const { thoughtSignature } = part;
      if (!thoughtSignature || thoughtSignature === "skip_thought_signature_validator") return;
      const original = sent.get(thoughtSignature);
      if (!original || JSON.stringify(sortedPart(original)) !== JSON.stringify(sortedPart(part)))
        invalid("Corrupted thought signature.");
    });
    const first = parts.findIndex((part: Loose) => part.functionCall);
    if (!third || first < 0 || parts[first].thoughtSignature) return;
    invalid(
      `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${parts[first].functionCall.name}\`, position ${at + 1}.`,
    );
  });
}

function sortedPart({ text, thought, thoughtSignature, functionCall }: Loose): Loose[] {
  return [text, thought, thoughtSignature, functionCall?.id, functionCall?.name, functionCall?.args];
}

/** Unsigned thoughts do not come back, and neighbouring unsigned texts cannot be distinguished. */
function asSent(parts: Loose[]): Loose[] {
  const back: Loose[] = [];
  for (const part of parts) {
    const before = back.at(-1);
    const alike = before && "text" in before && "text" in part && before.thought === part.thought;
    if (alike && !before.thoughtSignature && !part.thoughtSignature) before.text += part.text;
    else if (part.text !== "" || part.thoughtSignature) back.push({ ...part });
  }
  return back.filter(({ thought }) => !thought);
}

function isShown(part: Loose, { generationConfig }: Loose): boolean {
  return !part.thought || generationConfig?.thinkingConfig?.includeThoughts === true;
}

interface Making {
  readonly ids: (prefix: string) => string;
  readonly third: boolean;
  readonly callIds: boolean;
}

/** Only the first of parallel calls is signed. A reply without calls has its signature on its text, or on an empty text after it. */
function partsOf(says: readonly Said[], { ids, third, callIds }: Making): Loose[] {
  let signed = false;
  const sign = () => {
    if (signed || !third) return {};
    signed = true;
    return { thoughtSignature: ids("sig_") };
  };
  const calls = says.some((said) => "call" in said);
  const parts = says.flatMap((said, at): Loose[] => {
    if ("reasoning" in said) return said.reasoning ? [{ text: said.reasoning, thought: true }] : [];
    if ("hidden" in said) return [];
    if ("text" in said) return [{ text: said.text, ...(!calls && at % 2 === 1 ? sign() : {}) }];
    const functionCall = { ...(callIds && { id: ids("fc") }), name: said.call, args: objectOf(said.args) };
    return [{ functionCall, ...sign() }];
  });
  return signed || !third ? parts : [...parts, { text: "", ...sign() }];
}

function objectOf(args: Record<string, unknown> | string): Loose {
  try {
    return JSON.parse(argsText(args));
  } catch {
    return {};
  }
}

const STOPS = { end: "STOP", max_tokens: "MAX_TOKENS", refusal: "SAFETY", pause_turn: "STOP" } as const;

/** https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent */
function streamOf({ stop = "end" }: ModelReply, parts: Loose[], body: Loose): string[] {
  const usageMetadata = {
    promptTokenCount: 100,
    cachedContentTokenCount: 60,
    candidatesTokenCount: 15,
    thoughtsTokenCount: 5,
  };
  const chunk = (part: Loose, finishReason?: string) =>
    sse({
      candidates: [
        { content: { role: "model", parts: part ? [part] : [] }, ...(finishReason && { finishReason }), index: 0 },
      ],
      usageMetadata,
      modelVersion: "x",
    });
  const shown = parts.filter((part) => isShown(part, body));
  const chunks = shown.flatMap((part) => {
    // A signed part comes in one piece, so that it can go back unchanged.
    if (part.functionCall || part.thoughtSignature) return [chunk(part)];
    return piecesOf(part.text).map((text) => chunk({ ...part, text }));
  });
  return [...chunks, chunk(null, STOPS[stop])];
}
