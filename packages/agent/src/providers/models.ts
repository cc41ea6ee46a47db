/** Models by name, opened on first use: the code and the data of a provider are loaded only when it is asked for. */
import { budgetOf, type Effort, effortIn } from "./effort.js";
import { claudeFacts, geminiFacts } from "./facts.js";
import type { Model } from "./model.js";
import type { Post } from "./post.js";
import { type ModelAddress, resolveModel } from "./resolve.js";
import { createSwitch } from "./switch.js";
import type { Chain, Env } from "./table.js";

export interface ModelsOptions {
  /** Keys and base URLs, as the person who starts the program set them. */
  readonly env: Env;
  readonly chain: Chain;
  /** @defaultValue kept-alive node:http(s), through the proxy that the environment names */
  readonly post?: Post;
}

/** The `resolveModel` of an agent, for the providers in the table. The models last opened are kept. */
export function createModels({ env, chain, post }: ModelsOptions): (name: string) => Promise<Model> {
  const opened = new Map<string, Promise<Model>>();
  let shared: Promise<Post> | undefined = post && Promise.resolve(post);
  const sharedPost = (): Promise<Post> => {
    shared ??= import("./post.js").then(({ createPost }) => createPost({ env }));
    return shared;
  };
  return async (name) => {
    const known = opened.get(name);
    if (known) return known;
    const address = resolveModel(name, env, chain);
    const { open, keep } = OPENERS[address.wire];
    const model = open(address, env, sharedPost);
    if (!keep) return model;
    // Names come from clients: a picker gone wild must not fill the memory.
    if (opened.size >= MOST_KEPT) opened.delete(opened.keys().next().value as string);
    opened.set(name, model);
    model.catch(() => opened.delete(name));
    return model;
  };
}

// --- internal ---

const MOST_KEPT = 64;

interface Opener {
  open(address: ModelAddress, env: Env, post: () => Promise<Post>): Promise<Model>;
  /** A script is read anew for every turn: an edit counts at once, and its failures start over. */
  readonly keep: boolean;
}

const OPENERS: Readonly<Record<ModelAddress["wire"], Opener>> = {
  messages: { open: openMessages, keep: true },
  chat: { open: openChat, keep: true },
  responses: { open: openResponses, keep: true },
  gemini: { open: openGemini, keep: true },
  ollama: { open: openOllama, keep: true },
  offline: { open: async () => (await import("./offline/model.js")).createOfflineModel(), keep: true },
  scripted: { open: openScripted, keep: false },
};

async function openMessages(address: ModelAddress, env: Env, post: () => Promise<Post>): Promise<Model> {
  const [{ createMessagesModel }, known, opened] = await Promise.all([
    import("./wires/messages/model.js"),
    listing(address),
    post(),
  ]);
  const { maxOutput, thinking: form } = claudeFacts(address.model);
  const effort = askedEffort(env);
  // A model that decides by itself may think unless the person says no; one that needs a number does when it is asked to.
  const adaptive = form === "adaptive" && effortIn(env) !== "off" ? { form, effort } : null;
  const thinking = form === "budget" && effort ? { form, effort, tokens: budgetOf(effort, maxOutput) } : adaptive;
  return createMessagesModel({ ...address, ...known, maxOutput, thinking, post: opened });
}

/** How servers say that a model wants the other endpoint. */
const WANTS_RESPONSES = /v1\/responses|responses (?:api|endpoint)/i;

async function openChat(address: ModelAddress, env: Env, post: () => Promise<Post>): Promise<Model> {
  const [{ createChatModel }, known, opened] = await Promise.all([import("./wires/chat.js"), listing(address), post()]);
  const effort = askedEffort(env);
  const cacheKey = address.provider === "openai";
  const chat = createChatModel({ ...address, ...known, effort, cacheKey, post: opened });
  const url = address.url.replace(/\/chat\/completions$/, "/responses");
  return createSwitch(chat, WANTS_RESPONSES, () => openResponses({ ...address, url }, env, post));
}

async function openResponses(address: ModelAddress, env: Env, post: () => Promise<Post>): Promise<Model> {
  const [{ createResponsesModel }, known, opened] = await Promise.all([
    import("./wires/responses.js"),
    listing(address),
    post(),
  ]);
  return createResponsesModel({ ...address, ...known, effort: askedEffort(env), post: opened });
}

async function openGemini(address: ModelAddress, env: Env, post: () => Promise<Post>): Promise<Model> {
  const [{ createGeminiModel }, known, opened] = await Promise.all([
    import("./wires/gemini.js"),
    listing(address),
    post(),
  ]);
  const { thinking: form, signed } = geminiFacts(address.model);
  const effort = askedEffort(env);
  const asked = effort && (form === "level" ? { level: GEMINI_LEVELS[effort] } : { budget: budgetOf(effort) });
  const thinking = form === "none" || effortIn(env) === "off" ? null : (asked ?? {});
  return createGeminiModel({ ...address, ...known, thinking, signed, post: opened });
}

/** More than this takes more memory than most machines have. */
const MOST_CONTEXT = 131_072;
/** For a model that its server says nothing of: Ollama itself would cut at 4,096, and nobody would notice. */
const ASSUMED_CONTEXT = 32_768;
const SHOW_MS = 10_000;

async function openOllama(address: ModelAddress, env: Env, post: () => Promise<Post>): Promise<Model> {
  const [{ createOllamaModel, showModel }, known, opened] = await Promise.all([
    import("./wires/ollama.js"),
    listing(address),
    post(),
  ]);
  const url = address.url.replace(/\/api\/chat$/, "/api/show");
  const { contextLength: made, thinks } = await showModel({ ...address, url }, opened, AbortSignal.timeout(SHOW_MS));
  // Ollama's own variable, for machines that have less.
  const most = Number(env["OLLAMA_CONTEXT_LENGTH"]) || Math.max(MOST_CONTEXT, address.contextWindow);
  const contextWindow = Math.min(made ?? ASSUMED_CONTEXT, most);
  const think = thinks ? askedEffort(env) : null;
  return createOllamaModel({ ...address, ...known, contextWindow, think, post: opened });
}

async function openScripted({ model: path }: ModelAddress): Promise<Model> {
  const [{ readScript }, { createScriptedModel }] = await Promise.all([
    import("./scripted/script.js"),
    import("./scripted/model.js"),
  ]);
  return createScriptedModel(await readScript(path));
}

async function listing({
  provider,
  model,
  contextWindow,
}: ModelAddress): Promise<Pick<Model, "price" | "contextWindow">> {
  const { findPrice } = await import("./prices.js");
  const row = findPrice(provider, model);
  return { price: row?.price ?? null, contextWindow: row?.contextWindow ?? contextWindow };
}

const GEMINI_LEVELS = { low: "LOW", medium: "MEDIUM", high: "HIGH" } as const;

/** For wires that can only be asked for thinking. */
function askedEffort(env: Env): Effort | null {
  const effort = effortIn(env);
  return effort === "off" ? null : effort;
}
