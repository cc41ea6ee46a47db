/** An agent with a memory and nobody else around it: turns taken one after the other, the history kept in memory. */
import type { Agent, Ask, EngineMemory, TurnSettings, Workspace } from "@chimera/acp-schema/agent";
import type { AgentEvent, Json, Message, Metadata } from "@chimera/acp-schema/events";
import { createParts, summedUp } from "@chimera/acp-schema/parts";

export interface ConversationOptions {
  readonly workspace: Workspace;
  /** Who answers permissions. @defaultValue nobody: what is asked for is denied */
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

export function createConversation(agent: Agent, options: ConversationOptions): Conversation {
  const { workspace, ask = nobody } = options;
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
      const number = past.begin({ role: "user", text });
      const turn = { sessionId, number, prompt: { text }, history, seen, settings };
      const fail = (error: Error) => {
        throw error;
      };
      try {
        for await (const event of agent(turn, {
          ask,
          workspace,
          signal,
          flags: () => settings,
          fail,
          session: memory,
        })) {
          if (event.type === "usage") spentUsd = event.metadata.total_usd;
          past.hear(event);
          yield event;
        }
      } finally {
        past.end();
      }
    },
  };
}

// --- internal ---

const nobody: Ask = async () => ({ decision: "deny", by: "timeout" });

interface Past {
  messages(): Message[];
  /** The turns that those messages are of; those from before this conversation began have the first numbers. */
  seen(): number[];
  /** A turn begins; returns its number. */
  begin(prompt: Message): number;
  /** Joins a turn's events into messages: one reply per step, each call's result after it. */
  hear(event: AgentEvent): void;
  end(): void;
}

function createPast(given: readonly Message[]): Past {
  const first = given.findIndex((message) => message.role === "user");
  let before = first === -1 ? given : given.slice(0, first);
  let turns: { readonly number: number; readonly messages: Message[] }[] = [];
  for (const message of given.slice(before.length)) {
    if (message.role === "user") turns.push({ number: turns.length, messages: [] });
    turns.at(-1)?.messages.push(message);
  }
  let next = turns.length;
  const parts = createParts();
  const names = new Map<string, string>();
  const say = (message: Message): void => void turns.at(-1)?.messages.push(message);
  const endReply = (): void => {
    const said = parts.take();
    if (said.length > 0) say({ role: "assistant", parts: said });
  };
  const compact = ({ summary, from_turn, from_call }: Metadata<"compaction">): void => {
    before = [{ role: "summary", text: summary }];
    turns = turns.filter(({ number }) => number >= from_turn);
    const first = turns.find(({ number }) => number === from_turn);
    first?.messages.splice(1, summedUp(first.messages, from_call));
  };
  return {
    messages: () => [...before, ...turns.flatMap(({ messages }) => messages)],
    seen: () => turns.map(({ number }) => number),
    begin(prompt) {
      turns.push({ number: next, messages: [prompt] });
      return next++;
    },
    hear(event) {
      switch (event.type) {
        case "tool_call":
          names.set(event.metadata.call_id, event.metadata.tool);
          parts.apply(event);
          break;
        case "text_delta":
        case "thought_delta":
        case "part_end":
          parts.apply(event);
          break;
        case "tool_result": {
          const { call_id: id, success, output, error } = event.metadata;
          endReply();
          say({ role: "tool", id, name: names.get(id) ?? "", output: output || error || "", success });
          break;
        }
        case "step_end":
          endReply();
          break;
        case "compaction":
          compact(event.metadata);
          break;
        default:
          break;
      }
    },
    end: endReply,
  };
}
