/** What a server says of a model that nothing is known of: asked while its first reply streams, so that no reply waits for it. */
import { isJsonObject, type JsonObject } from "../json.js";
import type { Model } from "./model.js";
import type { Post } from "./post.js";
import { readJson } from "./provider-error.js";
import type { ModelAddress } from "./resolve.js";

/** The model, with the window that its server names from the turn after its first request on. */
export function withServedWindow(model: Model, address: ModelAddress, post: () => Post): Model {
  const list = LISTS[address.wire];
  if (address.facts || !list) return model;
  let asked = false;
  let served: number | null = null;
  const ask = async (): Promise<void> => {
    const { headers } = address;
    const url = address.url.replace(list.endpoint, list.asks);
    const reply = await post()({ method: "GET", url, headers, body: "", signal: AbortSignal.timeout(LONGEST_MS) });
    const answer = reply.status === 200 ? await readJson(reply) : null;
    served = answer && windowIn(answer, address.model);
  };
  return {
    ...model,
    get contextWindow() {
      return served ?? model.contextWindow;
    },
    stream(request) {
      // A server without such a list is left alone.
      if (!asked) ask().catch(() => {});
      asked = true;
      return model.stream(request);
    },
  };
}

// --- internal ---

/** A program that has its answer does not end before this is over. */
const LONGEST_MS = 2_000;

/** Where the list is, from the address of replies. */
const LISTS: { readonly [wire in ModelAddress["wire"]]?: { readonly endpoint: RegExp; readonly asks: string } } = {
  chat: { endpoint: /\/chat\/completions$/, asks: "/models" },
  gemini: { endpoint: /:streamGenerateContent.*$/, asks: "" },
};

/** vLLM and SGLang, OpenRouter, Gemini, LM Studio and Groq, in this order. */
const FIELDS = ["max_model_len", "context_length", "inputTokenLimit", "max_context_length", "context_window"];
const [LEAST, MOST] = [1_024, 100_000_000];

/** A list of models has this one in it; a page of one model is the model. */
function windowIn(answer: JsonObject, model: string): number | null {
  const { data } = answer;
  const one: unknown = Array.isArray(data) ? data.find((row) => isJsonObject(row) && row["id"] === model) : answer;
  if (!isJsonObject(one)) return null;
  const tokens = FIELDS.map((field) => one[field]).find((value) => value !== undefined && value !== null);
  return Number.isSafeInteger(tokens) && Number(tokens) >= LEAST && Number(tokens) <= MOST ? Number(tokens) : null;
}
