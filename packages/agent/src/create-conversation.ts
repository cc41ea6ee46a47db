/** An agent with a memory and nobody else around it: turns taken one after the other, the history kept in memory. */
import type { AgentEvent, Message } from "@chimera/acp-schema/events";
import { createParts } from "@chimera/acp-schema/parts";
import type { Agent, Ask, TurnSettings, Workspace } from "./port.js";

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
  maxSteps: 50,
  maxCostUsd: null,
  spentUsd: 0,
  allowedTools: null,
  mcpServers: [],
};

export function createConversation(agent: Agent, options: ConversationOptions): Conversation {
  const { workspace, ask = nobody } = options;
  const sessionId = "conversation";
  let messages: Message[] = [...(options.history ?? [])];
  let spentUsd = options.settings?.spentUsd ?? 0;
  let number = messages.filter((message) => message.role === "user").length;

  return {
    get messages() {
      return messages;
    },
    async *prompt(text, { signal = new AbortController().signal } = {}) {
      const settings = { ...defaultSettings, ...options.settings, spentUsd };
      const turn = { sessionId, number: number++, prompt: { text }, history: messages, settings };
      const listener = createListener();
      let before = messages;
      try {
        for await (const event of agent(turn, { ask, workspace, signal })) {
          if (event.type === "compaction") before = [{ role: "summary", text: event.metadata.summary }];
          else if (event.type === "usage") spentUsd = event.metadata.total_usd;
          else listener.hear(event);
          yield event;
        }
      } finally {
        messages = [...before, { role: "user", text }, ...listener.end()];
      }
    },
  };
}

// --- internal ---

const nobody: Ask = async () => ({ decision: "deny", by: "timeout" });

/** Joins a turn's events into messages: one reply per step, each call's result after it. */
function createListener() {
  const messages: Message[] = [];
  const parts = createParts();
  const names = new Map<string, string>();
  const endReply = (): void => {
    const said = parts.take();
    if (said.length > 0) messages.push({ role: "assistant", parts: said });
  };
  return {
    hear(event: AgentEvent): void {
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
          messages.push({ role: "tool", id, name: names.get(id) ?? "", output: output || error || "", success });
          break;
        }
        case "step_end":
          endReply();
          break;
        default:
          break;
      }
    },
    /** All that was said in the turn. */
    end(): Message[] {
      endReply();
      return messages;
    },
  };
}
