/** A conversation with an agent, without sessions: one turn after the other, with the history kept in memory. */
import type { Agent, Ask, EngineMemory, TurnSettings, Workspace } from "@chimera/acp-schema/agent";
import { foldConversation } from "@chimera/acp-schema/conversation";
import type { AgentEvent, Json, Message } from "@chimera/acp-schema/events";
import { isSecret } from "@chimera/sandbox/secrets";
import { resolvePath } from "./files/real-path.js";

export interface ConversationOptions {
  readonly workspace: Workspace;
  /** Answers permission requests. Reading in the workspace needs no permission. @defaultValue denies every request */
  readonly ask?: Ask;
  /** Replace those of `defaultSettings`. */
  readonly settings?: Partial<TurnSettings>;
  /** Messages of an earlier conversation. */
  readonly history?: readonly Message[];
}

export interface Conversation {
  /** Runs a turn and yields the agent's events. Only one turn may run at a time. */
  prompt(text: string, options?: { readonly signal?: AbortSignal }): AsyncIterable<AgentEvent>;
  /** The history that the next turn will see. */
  readonly messages: readonly Message[];
}

/** An empty model name lets the provider chain choose; without any key that is the offline interpreter. */
export const defaultSettings: TurnSettings = {
  model: "",
  agent: "build",
  autoApproveWrites: false,
  autoApproveExecute: false,
  readOnly: false,
  maxSteps: null,
  maxCostUsd: null,
  spentUsd: 0,
  allowedTools: null,
  mcpServers: [],
  options: {},
};

/**
 * Starts a conversation with an agent, without a session. It lasts as long as the object.
 *
 * @example
 * const conversation = createConversation(agent, { workspace, settings: { model: "offline" } });
 */
export function createConversation(agent: Agent, options: ConversationOptions): Conversation {
  const { workspace } = options;
  const ask = askUnlessReading(workspace, options.ask ?? nobody);
  const sessionId = "conversation";
  const past = createPast(options.history ?? []);
  let remembered: Json | null = null;
  const memory: EngineMemory = {
    recall: () => remembered,
    async remember(state) {
      remembered = state;
    },
    emit: past.hear,
  };
  let spentUsd = options.settings?.spentUsd ?? 0;

  return {
    get messages() {
      return past.messages();
    },
    async *prompt(text, { signal = new AbortController().signal } = {}) {
      const settings = { ...defaultSettings, ...options.settings, spentUsd };
      const [history, seen] = [past.messages(), past.seen()];
      const number = past.begin({ text });
      const turn = { sessionId, number, prompt: { text }, history, seen, settings };
      const fail = (error: Error) => {
        throw error;
      };
      const context = { ask, workspace, signal, flags: () => settings, fail, session: memory };
      try {
        for await (const event of agent(turn, context)) {
          if (event.type === "usage") spentUsd = event.metadata.total_usd;
          past.hear(event);
          yield event;
        }
      } finally {
        // The fold keeps an unfinished step only once the step has ended.
        past.hear({ type: "step_end", metadata: { step: 1 } });
      }
    },
  };
}

// --- internal ---

/** Stands in for a session's policy: allows calls that only read in the workspace, and asks about the others. */
function askUnlessReading({ cwd, directories }: Workspace, ask: Ask): Ask {
  return async (request) => {
    const { kind = "other", touches } = request.call ?? {};
    const roots = { cwd, directories };
    const isFree =
      ["read", "search", "think"].includes(kind) &&
      touches?.writes.length === 0 &&
      touches.reads.every((path) => resolvePath(path, roots).inside && !isSecret(path));
    return isFree ? { decision: "allow", by: "rule" } : ask(request);
  };
}

const nobody: Ask = async () => ({ decision: "deny", by: "timeout" });

const END = Number.POSITIVE_INFINITY;

/** Folds the turns of this conversation after those of a given history. */
function createPast(given: readonly Message[]) {
  const conversation = foldConversation();
  const { turns } = conversation;
  const hear = (event: AgentEvent): void => conversation.apply({ ...event, turn: turns.length - 1 });
  /** Returns the number of the turn. */
  const begin = (prompt: Pick<Message & { role: "user" }, "text" | "content">): number => {
    const number = turns.length;
    const metadata = {
      prompt: `msg-${number}`,
      text: prompt.text,
      ...(prompt.content && { content: [...prompt.content] }),
    };
    conversation.apply({ type: "user_message", turn: number, metadata });
    // The fold leaves out turns without a step, and a custom agent may not announce its steps.
    hear({ type: "step_start", metadata: { step: 1 } });
    return number;
  };
  const first = given.findIndex(({ role }) => role === "user");
  /** Messages before the first prompt. A compaction removes them. */
  let before = first === -1 ? given : given.slice(0, first);
  for (const message of given.slice(before.length)) {
    if (message.role === "user") begin(message);
    else turns.at(-1)!.messages.push(message);
  }
  return {
    messages: (): Message[] => [...before, ...conversation.messages(END)],
    seen: () => conversation.seen(END),
    begin,
    hear(event: AgentEvent): void {
      if (event.type === "compaction") before = [];
      hear(event);
    },
  };
}
