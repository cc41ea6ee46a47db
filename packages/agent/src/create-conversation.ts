/** An agent with a memory and nobody else around it: turns taken one after the other, the history kept in memory. */
import type { AgentEvent, Message, ToolUse } from "@chimera/acp-schema/events";
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
      const said: Message[] = [{ role: "user", text }];
      let before = messages;
      try {
        for await (const event of agent(turn, { ask, workspace, signal })) {
          if (event.type === "compaction") before = [{ role: "summary", text: event.metadata.summary }];
          else if (event.type === "usage") spentUsd = event.metadata.total_usd;
          else hear(said, event);
          yield event;
        }
      } finally {
        messages = [...before, ...said];
      }
    },
  };
}

// --- internal ---

const nobody: Ask = async () => ({ decision: "deny", by: "timeout" });

type Writable<T> = { -readonly [K in keyof T]: T[K] };
type Reply = Writable<Extract<Message, { role: "assistant" }>> & { tools: ToolUse[] };

/** Joins a turn's events into messages: one reply per step, each call's result behind it. */
function hear(said: Message[], event: AgentEvent): void {
  if (event.type === "text_delta") lastReply(said).text += event.metadata.text;
  else if (event.type === "tool_call") {
    const { call_id: id, tool: name, args } = event.metadata;
    lastReply(said).tools.push({ id, name, args });
  } else if (event.type === "tool_result") {
    const { call_id: id, success, output } = event.metadata;
    const name = said.flatMap((m) => (m.role === "assistant" ? m.tools : [])).find((use) => use.id === id)?.name ?? "";
    said.push({ role: "tool", id, name, output, success });
  }
}

function lastReply(said: Message[]): Reply {
  const last = said.at(-1);
  if (last?.role === "assistant") return last as Reply;
  const reply: Reply = { role: "assistant", text: "", tools: [] };
  said.push(reply);
  return reply;
}
