/** Finds models by name and opens them on first use. */
import { AgentError, type AgentErrorCode, isAgentError } from "../errors.js";
import { isJsonObject, type JsonObject } from "../json.js";
import { createSwitch, withSight } from "./begin-again.js";
import type { Chain } from "./chains.js";
import { effortIn, type Model } from "./model.js";
import { type ProviderPackages, packagedModel } from "./packages.js";
import { createPost, type Post } from "./post.js";
import { readJson } from "./provider-error.js";
import type { ModelAddress, modelAddress } from "./resolve.js";
import type { Env } from "./table.js";

export interface ModelsOptions {
  /** Keys and base URLs, from the environment of the program. */
  readonly env: Env;
  readonly chain: Chain;
  /** @defaultValue node:http(s) with kept-alive connections, through the proxy that the environment names */
  readonly post?: Post;
  /** Providers that the person has added. @defaultValue none */
  readonly packages?: ProviderPackages;
}

/**
 * Makes the `resolveModel` of an agent, for the providers in the table. It keeps a bounded number of opened models.
 *
 * @example
 * const resolveModel = createModels({ env: process.env, chain: anthropicFirst });
 * const model = await resolveModel("anthropic/claude-sonnet-5-5");
 */
export function createModels({ env, chain, post, packages }: ModelsOptions): (name: string) => Promise<Model> {
  const opened = new Map<string, Promise<Model>>();
  let resolve: typeof modelAddress | undefined;
  let shared = post;
  const sharedPost = (): Post => {
    shared ??= createPost({ env });
    return shared;
  };
  const openListed = (address: ModelAddress) => {
    const served = explained(OPENERS[address.wire](address, env, sharedPost), address);
    const model = served.then((one) => withServedWindow(withSight(one), address, sharedPost));
    // Every turn reads a script again, so that an edit takes effect and its failures start over.
    return { keep: address.wire !== "scripted", model };
  };
  return async (name) => {
    // Imported on demand, because it brings the table of models.
    if (!opened.has(name)) resolve ??= (await import("./resolve.js")).modelAddress;
    const known = opened.get(name);
    if (known) return known;
    const { model, keep } = openPackaged(name, env, packages) ?? openListed(resolve!(name, env, chain));
    if (!keep) return model;
    // Names come from clients, so they must not be able to fill the memory.
    if (opened.size >= MOST_KEPT) opened.delete(opened.keys().next().value as string);
    opened.set(name, model);
    model.catch(() => opened.delete(name));
    return model;
  };
}

/**
 * The names that the provider of a model lists, written in the same form as `name`. Null when the provider has no list or does not answer
 * in time, or when the table of facts has the model.
 *
 * @example
 * const names = await servedModels("ollama/llama4", { env: process.env, chain: anthropicFirst });
 */
export async function servedModels(name: string, { env, chain, packages }: ModelsOptions): Promise<string[] | null> {
  try {
    if (packages && packagedModel(name, packages.rows)) return null;
    const address = (await import("./resolve.js")).modelAddress(name, env, chain);
    if (address.facts) return null;
    const rows = await askList(address, createPost({ env }), LIST_MS);
    if (!rows) return null;
    const before = name.endsWith(address.model) ? name.slice(0, name.length - address.model.length) : "";
    return rows.flatMap(({ id }) => [before + id, ...(id.endsWith(":latest") ? [before + id.slice(0, -7)] : [])]);
  } catch {
    return null;
  }
}

/**
 * The message for a key that the provider of a model refuses; null when it accepts the key, needs none or cannot be asked.
 *
 * @example
 * const refusal = await keyRefusal("", { env: process.env, chain: anthropicFirst });
 * if (refusal) console.error(refusal);
 */
export async function keyRefusal(name: string, { env, chain }: ModelsOptions): Promise<string | null> {
  try {
    await askList((await import("./resolve.js")).modelAddress(name, env, chain), createPost({ env }), LIST_MS);
    return null;
  } catch (error) {
    return isAgentError(error) && error.code === "unauthorized" ? error.message : null;
  }
}

// --- internal ---

const LIST_MS = 5_000;

/** How to list the models of a wire's providers. The address is made from the one for replies. */
const LISTS: { readonly [wire in ModelAddress["wire"]]?: ModelList } = {
  chat: { endpoint: /\/chat\/completions$/, asks: "/models", rows: "data", id: "id", windows: true },
  responses: { endpoint: /\/responses$/, asks: "/models", rows: "data", id: "id" },
  messages: { endpoint: /\/messages$/, asks: "/models?limit=1000", rows: "data", id: "id" },
  ollama: { endpoint: /\/api\/chat$/, asks: "/api/tags", rows: "models", id: "name" },
  gemini: { endpoint: /\/[^/]*:stream.*$/, asks: "?pageSize=1000", rows: "models", id: "name", windows: true },
};

interface ModelList {
  readonly endpoint: RegExp;
  readonly asks: string;
  readonly rows: string;
  readonly id: string;
  /** Whether rows may state the window of a model. */
  readonly windows?: true;
}

/** The models that a server lists; null when it has no list. Throws `unauthorized` when it refuses the key. */
async function askList(
  address: ModelAddress,
  post: Post,
  ms: number,
): Promise<{ id: string; row: JsonObject }[] | null> {
  const list = LISTS[address.wire];
  if (!list) return null;
  const { headers } = address;
  const url = address.url.replace(list.endpoint, list.asks);
  const reply = await post({ method: "GET", url, headers, body: "", signal: AbortSignal.timeout(ms) });
  const { status } = reply;
  if (status === 401 || status === 403) throw new AgentError("unauthorized", `${address.refusal} (${status})`);
  const rows: unknown = status === 200 ? (await readJson(reply))?.[list.rows] : null;
  if (!Array.isArray(rows)) return null;
  const named = rows
    .filter(isJsonObject)
    .map((row) => ({ id: String(row[list.id] ?? "").replace(/^models\//, ""), row }));
  return named.filter(({ id }) => id !== "");
}

/** Takes the context window from the model's server. Asks while the first reply streams, so that no reply has to wait. */
function withServedWindow(model: Model, address: ModelAddress, post: () => Post): Model {
  if (address.facts || !LISTS[address.wire]?.windows) return model;
  let asked = false;
  let served: number | null = null;
  const ask = async (): Promise<void> => {
    const rows = await askList(address, post(), LONGEST_MS);
    const row = rows?.find(({ id }) => id === address.model)?.row;
    served = row ? windowIn(row) : null;
  };
  return {
    ...model,
    get contextWindow() {
      return served ?? model.contextWindow;
    },
    stream(request) {
      // Asked once. A server without such a list is not asked again.
      if (!asked) ask().catch(() => {});
      asked = true;
      return model.stream(request);
    },
  };
}

const MOST_KEPT = 64;

function openPackaged(name: string, env: Env, packages: ProviderPackages | undefined) {
  const wanted = packages && packagedModel(name, packages.rows);
  if (!packages || !wanted) return null;
  const model = import("./open-package.js").then(({ openPackage }) => openPackage(wanted, packages, env));
  return { keep: true, model };
}

/** Loads a wire when its first model is opened, because a process uses only one or two wires. */
const OPENERS: Readonly<
  Record<ModelAddress["wire"], (address: ModelAddress, env: Env, post: () => Post) => Promise<Model>>
> = {
  async messages(address, env, post) {
    const { createMessagesModel } = await import("./wires/messages/model.js");
    const { maxOutput = ASSUMED_OUTPUT, thinking: form = "budget" } = address.facts ?? {};
    // Other vendors copied Claude's format when it took a budget, so that is the default.
    const thinking = form === "none" ? null : form === "adaptive" ? form : "budget";
    return createMessagesModel({ ...endpoint(address, env, post), maxOutput, thinking });
  },
  async chat(address, env, post) {
    const { createChatModel } = await import("./wires/chat.js");
    const { limitField, provider, facts } = address;
    const settings = { limitField, cacheKey: provider === "openai", efforts: facts?.thinking !== "none" };
    const chat = createChatModel({ ...endpoint(address, env, post), ...settings });
    const url = address.url.replace(/\/chat\/completions$/, "/responses");
    return createSwitch(chat, WANTS_RESPONSES, () => OPENERS.responses({ ...address, url }, env, post));
  },
  async responses(address, env, post) {
    const { createResponsesModel } = await import("./wires/responses.js");
    return createResponsesModel({ ...endpoint(address, env, post), reasoning: address.facts?.thinking !== "none" });
  },
  async gemini(address, env, post) {
    const { createGeminiModel } = await import("./wires/gemini.js");
    const form = address.facts?.thinking ?? "level";
    const thinking = form === "none" ? null : form === "budget" ? form : "level";
    // Models that take a thinking level also sign their calls.
    return createGeminiModel({ ...endpoint(address, env, post), thinking, signed: thinking === "level" });
  },
  async ollama(address, env, post) {
    const { createOllamaModel, showModel } = await import("./wires/ollama.js");
    const url = address.url.replace(/\/api\/chat$/, "/api/show");
    const { contextLength, thinks, sees } = await showModel({ ...address, url }, post(), AbortSignal.timeout(SHOW_MS));
    // Ollama's own variable, for machines with less memory.
    const most = Number(env["OLLAMA_CONTEXT_LENGTH"]) || Math.max(MOST_CONTEXT, address.contextWindow);
    const contextWindow = Math.min(contextLength ?? ASSUMED_CONTEXT, most);
    const thinking = thinks ? "level" : null;
    return createOllamaModel({ ...endpoint(address, env, post), contextWindow, thinking, sees });
  },
  offline: async () => (await import("./offline.js")).createOfflineModel(),
  async scripted({ model: path }) {
    const { createScriptedModel, readScript } = await import("../scripted.js");
    return createScriptedModel(await readScript(path));
  },
};

/** Most output tokens of an unknown model at an endpoint in Claude's format. */
const ASSUMED_OUTPUT = 32_000;

/** Servers' messages that a model must be asked at the other endpoint. */
const WANTS_RESPONSES = /v1\/responses|responses (?:api|endpoint)/i;

/** A larger context takes more memory than most machines have. */
const MOST_CONTEXT = 131_072;
/** For a model whose context length the server does not state. Ollama itself would silently cut at 4,096. */
const ASSUMED_CONTEXT = 32_768;
const SHOW_MS = 10_000;

/**
 * Adds a remedy to the model's errors: which key was refused; and on a person's own server how the name was understood, since a wrong
 * provider fails like a server that is down.
 */
async function explained(opening: Promise<Model>, { remedy, refusal }: ModelAddress): Promise<Model> {
  const named = (error: unknown): unknown => {
    if (!isAgentError(error)) return error;
    const { code, message, retryAfterMs } = error;
    if (code === "unauthorized") return new AgentError(code, `${refusal} (${message})`, { cause: error, retryAfterMs });
    if (remedy === null || !UNSERVED.has(code)) return error;
    return new AgentError(code, `${message}; ${remedy}`, { cause: error, retryAfterMs });
  };
  const model = await opening.catch((error: unknown) => {
    throw named(error);
  });
  return {
    ...model,
    ...(remedy !== null && { textCalls: true }),
    async *stream(request) {
      let heard = false;
      try {
        for await (const events of model.stream(request)) {
          heard = true;
          yield events;
        }
      } catch (error) {
        throw heard ? error : named(error);
      }
    },
  };
}

const UNSERVED: ReadonlySet<AgentErrorCode> = new Set(["model_unavailable", "connection_lost", "stalled"]);

/** The settings that all wires share. */
function endpoint({ facts, ...address }: ModelAddress, env: Env, post: () => Post) {
  const { price = null, maxOutput, sees } = facts ?? {};
  return {
    ...address,
    price,
    effort: effortIn(env),
    maxOutput,
    sees,
    post: post(),
  };
}

/** Time limit for the list of models. A program that has its answer cannot exit earlier. */
const LONGEST_MS = 2_000;

/** The field of the context window at vLLM and SGLang, OpenRouter, Gemini, LM Studio and Groq, in this order. */
const FIELDS = ["max_model_len", "context_length", "inputTokenLimit", "max_context_length", "context_window"];
const [LEAST, MOST] = [1_024, 100_000_000];

function windowIn(row: JsonObject): number | null {
  const tokens = FIELDS.map((field) => row[field]).find((value) => value !== undefined && value !== null);
  return Number.isSafeInteger(tokens) && Number(tokens) >= LEAST && Number(tokens) <= MOST ? Number(tokens) : null;
}
