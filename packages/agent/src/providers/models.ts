/** Models by name, opened on first use. */
import { AgentError, type AgentErrorCode, isAgentError } from "../errors.js";
import { createAnthropicModel } from "./anthropic/model.js";
import type { Chain } from "./chains.js";
import { createChatModel } from "./chat/model.js";
import type { Model } from "./model.js";
import { createOfflineModel } from "./offline/model.js";
import { createPost, type Post } from "./post.js";
import { findPrice } from "./prices.js";
import { type ModelAddress, resolveModel } from "./resolve.js";
import { createScriptedModel } from "./scripted/model.js";
import { readScript } from "./scripted/script.js";
import type { Env } from "./table.js";

export interface ModelsOptions {
  /** Keys and base URLs, as the person who starts the program set them. */
  readonly env: Env;
  readonly chain: Chain;
  /** @defaultValue kept-alive node:http(s) */
  readonly post?: Post;
}

/** The `resolveModel` of an agent, for the providers in the table. The models last opened are kept. */
export function createModels({ env, chain, post }: ModelsOptions): (name: string) => Promise<Model> {
  const opened = new Map<string, Promise<Model>>();
  let shared = post;
  const sharedPost = (): Post => {
    shared ??= createPost();
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
  open(address: ModelAddress, env: Env, post: () => Post): Promise<Model>;
  /** A script is read anew for every turn: an edit counts at once, and its failures start over. */
  readonly keep: boolean;
}

const OPENERS: Readonly<Record<ModelAddress["wire"], Opener>> = {
  anthropic: { open: openAnthropic, keep: true },
  chat: { open: openChat, keep: true },
  offline: { open: async () => createOfflineModel(), keep: true },
  scripted: { open: openScripted, keep: false },
};

async function openAnthropic(address: ModelAddress, env: Env, post: () => Post): Promise<Model> {
  const maxOutput = outputLimit(address.model);
  const thinkingBudget = Math.min(thinking(env).budget, maxOutput / 2);
  return createAnthropicModel({ ...address, ...listing(address), maxOutput, thinkingBudget, post: post() });
}

async function openChat(address: ModelAddress, env: Env, post: () => Post): Promise<Model> {
  const model = createChatModel({ ...address, ...listing(address), effort: thinking(env).effort, post: post() });
  return address.remedy === null ? model : withRemedy(model, address.remedy);
}

/** A name that was taken for the wrong provider fails like one whose server is down, so the failure says what was guessed. */
function withRemedy(model: Model, remedy: string): Model {
  return {
    ...model,
    async *stream(request) {
      let heard = false;
      try {
        for await (const events of model.stream(request)) {
          heard = true;
          yield events;
        }
      } catch (error) {
        if (heard || !isAgentError(error) || !UNSERVED.has(error.code)) throw error;
        const { code, message, retryAfterMs } = error;
        throw new AgentError(code, `${message}; ${remedy}`, { cause: error, retryAfterMs });
      }
    },
  };
}

const UNSERVED: ReadonlySet<AgentErrorCode> = new Set(["model_unavailable", "connection_lost", "stalled"]);

async function openScripted({ model: path }: ModelAddress): Promise<Model> {
  return createScriptedModel(await readScript(path));
}

function listing({ provider, model, contextWindow }: ModelAddress): Pick<Model, "price" | "contextWindow"> {
  const row = findPrice(provider, model);
  return { price: row?.price ?? null, contextWindow: row?.contextWindow ?? contextWindow };
}

/** Anthropic wants to know how long a reply may get; asking an older model for more than it can is an error. */
const OUTPUT_LIMITS: readonly (readonly [prefix: string, tokens: number])[] = [
  ["claude-3-haiku", 4_096],
  ["claude-3-opus", 4_096],
  ["claude-3-sonnet", 4_096],
  ["claude-3-5", 8_192],
];

function outputLimit(model: string): number {
  return OUTPUT_LIMITS.find(([prefix]) => model.startsWith(prefix))?.[1] ?? 32_000;
}

const THINKING_LEVELS: Readonly<Record<string, { effort: string; budget: number }>> = {
  low: { effort: "low", budget: 4_096 },
  medium: { effort: "medium", budget: 12_288 },
  high: { effort: "high", budget: 24_576 },
};

function thinking(env: Env): { effort: string | null; budget: number } {
  const level = env["CHIMERA_THINKING_LEVEL"]?.toLowerCase() ?? "";
  return (Object.hasOwn(THINKING_LEVELS, level) && THINKING_LEVELS[level]) || { effort: null, budget: 0 };
}
