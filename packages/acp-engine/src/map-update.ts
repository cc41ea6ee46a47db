/** Maps an engine's updates to agent events without loss. An update of an unknown kind is kept unchanged. */
import { type SessionUpdate, type ToolCallUpdate, updates as updateSchemas } from "@chimera/acp-schema";
import type { AgentEvent, Json } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import * as v from "valibot";
import { createCalls } from "./calls.js";
import type { UnknownUpdate } from "./connect-agent.js";
import { limits } from "./limits.js";
import { createOptions } from "./options.js";

export type Mapper = ReturnType<typeof createMapper>;

export function createMapper(clock: () => number) {
  const calls = createCalls(clock);
  const options = createOptions();
  /** By kind of update: the id of the present message, if the engine gives its messages ids. */
  const messages = new Map<string, unknown>();
  let spent = { costUsd: 0, isPriced: false, used: 0, size: 0 };

  const kinds: Readonly<Record<string, (update: never) => AgentEvent[]>> = {
    tool_call: (update: Update<"tool_call">) => calls.take(update as ToolCallUpdate, true),
    tool_call_update: (update: Update<"tool_call_update">) => calls.take(update, false),
    plan({ entries }: Update<"plan">) {
      const known = entries.map(({ content, priority, status }) => ({ content, priority, status }));
      return [{ type: "plan", metadata: { entries: known } }];
    },
    available_commands_update: ({ availableCommands }: Update<"available_commands_update">) => [
      {
        type: "commands_changed",
        metadata: {
          commands: availableCommands.map(({ name, description, input }) => ({
            name,
            description,
            ...(input && { hint: input.hint }),
          })),
        },
      },
    ],
    session_info_update: ({ title }: Update<"session_info_update">) =>
      title ? [{ type: "title_changed", metadata: { title: startOf(title.replace(/\s+/g, " ").trim(), 200) } }] : [],
    current_mode_update: ({ currentModeId }: Update<"current_mode_update">) => options.chose("mode", currentModeId),
    config_option_update: ({ configOptions }: Update<"config_option_update">) => options.replaced(configOptions),
    usage_update({ used, size, cost }: Update<"usage_update">) {
      const isPriced = cost?.currency === "USD";
      spent = { costUsd: isPriced ? cost.amount : spent.costUsd, isPriced: spent.isPriced || isPriced, used, size };
      return [];
    },
    notice: ({ severity, title, description }: Update<"notice">) => [
      {
        type: "notice",
        metadata: {
          level: LEVELS.find((level) => level === severity) ?? "info",
          text: description ? `${title}: ${description}` : title,
        },
      },
    ],
    // The log already has the person's prompt.
    user_message_chunk: () => [],
  };

  return {
    calls,
    options,
    /** The cost and tokens that the engine counts for its own session. */
    get spent() {
      return spent;
    },
    beginTurn() {
      calls.beginTurn();
      messages.clear();
    },
    /** The events of one update. */
    of(update: UnknownUpdate): AgentEvent[] {
      const kind = String(update["sessionUpdate"]);
      const spoken = SPOKEN.get(kind);
      if (spoken) {
        const events = spokenEvents(spoken, update["content"]);
        const { messageId } = update;
        const before = messages.get(kind);
        if (messageId === before) return events;
        messages.set(kind, messageId);
        // Keep two messages apart even if nothing stands between them.
        return before === undefined ? events : [{ type: "part_end", metadata: { kind: spoken.part } }, ...events];
      }
      const handle = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
      if (!handle) return [vendor(kind, update)];
      const read = v.safeParse(updateSchemas[kind as keyof typeof updateSchemas] as v.GenericSchema, update);
      return read.success ? handle(read.output as never) : [vendor(kind, update)];
    },
  };
}

// --- internal ---

const LEVELS = ["warning", "error"] as const;

type Update<K extends SessionUpdate["sessionUpdate"]> = Extract<SessionUpdate, { sessionUpdate: K }>;

/** By kind of update: the events of text. These two kinds come by the thousand and are not validated as a whole. */
const SPOKEN: ReadonlyMap<string, Speaker> = new Map([
  ["agent_message_chunk", { delta: "text_delta", role: "agent", part: "text" }],
  ["agent_thought_chunk", { delta: "thought_delta", role: "thought", part: "reasoning" }],
]);

interface Speaker {
  readonly delta: "text_delta" | "thought_delta";
  readonly role: "agent" | "thought";
  readonly part: "text" | "reasoning";
}

function spokenEvents({ delta, role }: Speaker, content: unknown): AgentEvent[] {
  if (typeof content !== "object" || content === null) return [];
  const block = content as { type?: unknown; text?: unknown };
  if (block.type === "text")
    return typeof block.text === "string" && block.text !== "" ? [{ type: delta, metadata: { text: block.text } }] : [];
  if (typeof block.type !== "string") return [];
  return [{ type: "content", metadata: { role, block: block as { type: string } } }];
}

function vendor(name: string, data: unknown): AgentEvent {
  const size = JSON.stringify(data)?.length ?? 0;
  const kept = size <= limits.vendorBytes ? (data as Json) : `${size} characters, too many to keep`;
  return { type: "vendor", metadata: { name: startOf(name, 120), data: kept } };
}
