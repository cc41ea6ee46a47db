/** Models by name, opened on first use: the code and the data of a provider are loaded only when it is asked for. */
import type { Model } from "./model.js";
import type { Post } from "./post.js";
import { type ModelAddress, resolveModel } from "./resolve.js";
import type { Chain, Env } from "./table.js";

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
  let shared: Promise<Post> | undefined = post && Promise.resolve(post);
  const sharedPost = (): Promise<Post> => {
    shared ??= import("./post.js").then(({ createPost }) => createPost());
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
  offline: { open: async () => (await import("./offline/model.js")).createOfflineModel(), keep: true },
  scripted: { open: openScripted, keep: false },
};

async function openMessages(address: ModelAddress, env: Env, post: () => Promise<Post>): Promise<Model> {
  const { createMessagesModel } = await import("./wires/messages.js");
  const [known, opened] = await Promise.all([listing(address), post()]);
  const maxOutput = outputLimit(address.model);
  const thinkingBudget = Math.min(thinking(env).budget, maxOutput / 2);
  return createMessagesModel({ ...address, ...known, maxOutput, thinkingBudget, post: opened });
}

async function openChat(address: ModelAddress, env: Env, post: () => Promise<Post>): Promise<Model> {
  const { createChatModel } = await import("./wires/chat.js");
  const [known, opened] = await Promise.all([listing(address), post()]);
  return createChatModel({ ...address, ...known, effort: thinking(env).effort, post: opened });
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

/** Anthropic wants to be told how long a reply may get; asking an older model for more than it can is an error. */
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
