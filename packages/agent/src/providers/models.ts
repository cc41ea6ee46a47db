/** Models by name, opened on first use. */
import { AgentError, type AgentErrorCode, isAgentError } from "../errors.js";
import type { Chain } from "./chains.js";
import { budgetOf, type Effort, effortIn } from "./effort.js";
import { claudeFacts, geminiFacts } from "./facts.js";
import type { Model } from "./model.js";
import { type ProviderPackages, packagedModel } from "./packages.js";
import { createPost, type Post } from "./post.js";
import { findPrice } from "./prices.js";
import { type ModelAddress, resolveModel } from "./resolve.js";
import { createSwitch } from "./switch.js";
import type { Env } from "./table.js";

export interface ModelsOptions {
  /** Keys and base URLs, as the person who starts the program set them. */
  readonly env: Env;
  readonly chain: Chain;
  /** @defaultValue kept-alive node:http(s), through the proxy that the environment names */
  readonly post?: Post;
  /** Providers that the person adds. @defaultValue none */
  readonly packages?: ProviderPackages;
}

/** The `resolveModel` of an agent, for the providers in the table. The models last opened are kept. */
export function createModels({ env, chain, post, packages }: ModelsOptions): (name: string) => Promise<Model> {
  const opened = new Map<string, Promise<Model>>();
  let shared = post;
  const sharedPost = (): Post => {
    shared ??= createPost({ env });
    return shared;
  };
  const openListed = (address: ModelAddress) => {
    const { open, keep } = OPENERS[address.wire];
    const opening = open(address, env, sharedPost);
    return { keep, model: address.remedy === null ? opening : onOwnServer(opening, address.remedy) };
  };
  return async (name) => {
    const known = opened.get(name);
    if (known) return known;
    const { model, keep } = openPackaged(name, env, packages) ?? openListed(resolveModel(name, env, chain));
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

function openPackaged(name: string, env: Env, packages: ProviderPackages | undefined) {
  const wanted = packages && packagedModel(name, packages.rows);
  if (!packages || !wanted) return null;
  const model = import("./open-package.js").then(({ openPackage }) => openPackage(wanted, packages, env));
  return { keep: true, model };
}

interface Opener {
  open(address: ModelAddress, env: Env, post: () => Post): Promise<Model>;
  /** A script is read anew for every turn: an edit counts at once, and its failures start over. */
  readonly keep: boolean;
}

/** A process speaks one or two wires: each is loaded when a model of it is opened. */
const OPENERS: Readonly<Record<ModelAddress["wire"], Opener>> = {
  messages: { open: openMessages, keep: true },
  chat: { open: openChat, keep: true },
  responses: { open: openResponses, keep: true },
  gemini: { open: openGemini, keep: true },
  ollama: { open: openOllama, keep: true },
  offline: { open: async () => (await import("./offline/model.js")).createOfflineModel(), keep: true },
  scripted: { open: openScripted, keep: false },
};

async function openMessages(address: ModelAddress, env: Env, post: () => Post): Promise<Model> {
  const { createMessagesModel } = await import("./wires/messages/model.js");
  const { maxOutput, thinking: form } = claudeFacts(address.model);
  const effort = askedEffort(env);
  // A model that decides by itself may think unless the person says no; one that needs a number does when it is asked to.
  const adaptive = form === "adaptive" && effortIn(env) !== "off" ? { form, effort } : null;
  const thinking = form === "budget" && effort ? { form, effort, tokens: budgetOf(effort, maxOutput) } : adaptive;
  return createMessagesModel({ ...address, ...listing(address), maxOutput, thinking, post: post() });
}

/** How servers say that a model wants the other endpoint. */
const WANTS_RESPONSES = /v1\/responses|responses (?:api|endpoint)/i;

async function openChat(address: ModelAddress, env: Env, post: () => Post): Promise<Model> {
  const { createChatModel } = await import("./wires/chat.js");
  const effort = askedEffort(env);
  const cacheKey = address.provider === "openai";
  const chat = createChatModel({ ...address, ...listing(address), effort, cacheKey, post: post() });
  const url = address.url.replace(/\/chat\/completions$/, "/responses");
  return createSwitch(chat, WANTS_RESPONSES, () => openResponses({ ...address, url }, env, post));
}

async function openResponses(address: ModelAddress, env: Env, post: () => Post): Promise<Model> {
  const { createResponsesModel } = await import("./wires/responses.js");
  return createResponsesModel({ ...address, ...listing(address), effort: askedEffort(env), post: post() });
}

async function openGemini(address: ModelAddress, env: Env, post: () => Post): Promise<Model> {
  const { createGeminiModel } = await import("./wires/gemini.js");
  const { thinking: form, signed } = geminiFacts(address.model);
  const effort = askedEffort(env);
  const asked = effort && (form === "level" ? { level: GEMINI_LEVELS[effort] } : { budget: budgetOf(effort) });
  const thinking = form === "none" || effortIn(env) === "off" ? null : (asked ?? {});
  return createGeminiModel({ ...address, ...listing(address), thinking, signed, post: post() });
}

/** More than this takes more memory than most machines have. */
const MOST_CONTEXT = 131_072;
/** For a model that its server says nothing of: Ollama itself would cut at 4,096, and nobody would notice. */
const ASSUMED_CONTEXT = 32_768;
const SHOW_MS = 10_000;

async function openOllama(address: ModelAddress, env: Env, post: () => Post): Promise<Model> {
  const { createOllamaModel, showModel } = await import("./wires/ollama.js");
  const url = address.url.replace(/\/api\/chat$/, "/api/show");
  const { contextLength: made, thinks } = await showModel({ ...address, url }, post(), AbortSignal.timeout(SHOW_MS));
  // Ollama's own variable, for machines that have less.
  const most = Number(env["OLLAMA_CONTEXT_LENGTH"]) || Math.max(MOST_CONTEXT, address.contextWindow);
  const contextWindow = Math.min(made ?? ASSUMED_CONTEXT, most);
  const think = thinks ? askedEffort(env) : null;
  return createOllamaModel({ ...address, ...listing(address), contextWindow, think, post: post() });
}

/**
 * A model on a server that the person runs. Small ones write their calls as text; and a name that was taken for the wrong provider
 * fails like one whose server is down, so the failure says what was guessed.
 */
async function onOwnServer(opening: Promise<Model>, remedy: string): Promise<Model> {
  const remedied = (error: unknown): unknown => {
    if (!isAgentError(error) || !UNSERVED.has(error.code)) return error;
    const { code, message, retryAfterMs } = error;
    return new AgentError(code, `${message}; ${remedy}`, { cause: error, retryAfterMs });
  };
  const model = await opening.catch((error: unknown) => {
    throw remedied(error);
  });
  return {
    ...model,
    textCalls: true,
    async *stream(request) {
      let heard = false;
      try {
        for await (const events of model.stream(request)) {
          heard = true;
          yield events;
        }
      } catch (error) {
        throw heard ? error : remedied(error);
      }
    },
  };
}

const UNSERVED: ReadonlySet<AgentErrorCode> = new Set(["model_unavailable", "connection_lost", "stalled"]);

async function openScripted({ model: path }: ModelAddress): Promise<Model> {
  const [{ createScriptedModel }, { readScript }] = await Promise.all([
    import("./scripted/model.js"),
    import("./scripted/script.js"),
  ]);
  return createScriptedModel(await readScript(path));
}

function listing({ provider, model, contextWindow }: ModelAddress): Pick<Model, "price" | "contextWindow"> {
  const row = findPrice(provider, model);
  return { price: row?.price ?? null, contextWindow: row?.contextWindow ?? contextWindow };
}

const GEMINI_LEVELS = { low: "LOW", medium: "MEDIUM", high: "HIGH" } as const;

/** For wires that can only be asked for thinking. */
function askedEffort(env: Env): Effort | null {
  const effort = effortIn(env);
  return effort === "off" ? null : effort;
}
