/** An agent with a memory and nobody else around it: turns taken one after the other, the history kept in memory. */
import type { Agent, Ask, EngineMemory, TurnSettings, Workspace } from "@chimera/acp-schema/agent";
import { foldConversation } from "@chimera/acp-schema/conversation";
import type { AgentEvent, Json, Message } from "@chimera/acp-schema/events";
import { isSecret } from "@chimera/sandbox/secrets";
import { resolvePath } from "./files/real-path.js";

export interface ConversationOptions {
  readonly workspace: Workspace;
  /** Who answers permissions; reading in the workspace needs none. @defaultValue nobody: what is asked for is denied */
  readonly ask?: Ask;
  /** Over `defaultSettings`. */
  readonly settings?: Partial<TurnSettings>;
  /** What was said before. */
  readonly history?: readonly Message[];
}

export interface Conversation {
  /** Takes a turn; its events are the agent's. One at a time. */
  prompt(text: string, options?: { readonly signal?: AbortSignal }): AsyncIterable<AgentEvent>;
  /** All that was said, as the next turn will see it. */
  readonly messages: readonly Message[];
}

/** An empty model name is the provider chain's choice: without any key, the offline interpreter. */
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
 * A conversation with an agent, without sessions: it lasts as long as the object.
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
        // What was said stays, however the turn ended.
        past.hear({ type: "step_end", metadata: { step: 1 } });
      }
    },
  };
}

// --- internal ---

/** Without a session and its rules, what only reads in the workspace needs nobody's word. */
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

/** The fold of the turns taken here, after those of a history that came from elsewhere. */
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
    // The fold leaves out turns without a step; an agent from elsewhere may announce none.
    hear({ type: "step_start", metadata: { step: 1 } });
    return number;
  };
  const first = given.findIndex(({ role }) => role === "user");
  /** What was said before the first prompt; a summary takes its place. */
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
