/**
 * What an engine says -> agent events, without loss: a call that it names late, names twice or ends twice is one call of the log, text
 * that it sends whole again is only what was added, and a kind that no record has a place for is kept as it came.
 */
import {
  type SessionConfigOption,
  type SessionModeState,
  type SessionUpdate,
  type ToolCallUpdate,
  updates as updateSchemas,
} from "@chimera/acp-schema";
import type { AgentEvent, EngineOption, Json, Metadata, ToolKind } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import * as v from "valibot";
import { argsOf, type CallState, contentOf, isUnasked, locationsOf, outputOf, terminalText } from "./call-state.js";
import type { UnknownUpdate } from "./connect-agent.js";
import { limits } from "./limits.js";
import { modelsOf, modesOf, optionOf, withModes } from "./options.js";

export type Mapper = ReturnType<typeof createMapper>;

export interface OpenAnswer {
  readonly modes?: SessionModeState | null | undefined;
  readonly configOptions?: readonly SessionConfigOption[] | null | undefined;
  readonly models?: unknown;
}

export function createMapper(clock: () => number) {
  /** By the engine's id of a call; one that it uses again is another call. */
  const calls = new Map<string, CallState>();
  let repeats = 0;
  let turnCalls: CallState[] = [];
  let options: EngineOption[] = [];
  const setters = new Map<string, "session/set_mode" | "session/set_model">();
  /** The message that each speaker is in, where the engine names its messages. */
  const messages = new Map<string, unknown>();
  let spent = { costUsd: 0, isPriced: false, used: 0, size: 0 };

  const begin = (call: ToolCallUpdate): CallState => {
    // The oldest is forgotten: an engine that makes calls without end must not fill the memory. From then on any id may have been used.
    const isFull = calls.size >= limits.calls;
    const id = isFull || calls.has(call.toolCallId) ? `${call.toolCallId}~${++repeats}` : call.toolCallId;
    const kind = call.kind ?? "other";
    const state: CallState = {
      id,
      tool: call.name || TOOL_OF_KIND[kind],
      kind,
      title: call.title || TOOL_OF_KIND[kind],
      args: argsOf(call.rawInput),
      locations: locationsOf(call.locations),
      diffs: new Set(),
      asked: false,
      startedAt: clock(),
      endedAt: null,
      text: "",
      content: [],
    };
    if (isFull) calls.delete(calls.keys().next().value!);
    calls.set(call.toolCallId, state);
    if (turnCalls.length < limits.calls) turnCalls.push(state);
    return state;
  };

  const announced = ({ id, tool, args, kind, title, locations }: CallState): AgentEvent => ({
    type: "tool_call",
    metadata: { call_id: id, tool, args, kind, title, locations },
  });

  /** What changed of a call that is known, without its end. */
  const changed = (state: CallState, call: ToolCallUpdate): AgentEvent[] => {
    const news: Partial<Metadata<"tool_update">> = {};
    if (call.title && call.title !== state.title) news.title = state.title = call.title;
    if (call.kind && call.kind !== state.kind) news.kind = state.kind = call.kind;
    if (call.rawInput !== undefined && call.rawInput !== null) {
      const args = argsOf(call.rawInput);
      if (JSON.stringify(args) !== JSON.stringify(state.args)) news.args = state.args = args;
    }
    if (call.locations) {
      const locations = locationsOf(call.locations);
      if (JSON.stringify(locations) !== JSON.stringify(state.locations)) news.locations = state.locations = locations;
    }
    const events: AgentEvent[] = [];
    if (call.content) {
      const { text, shown } = contentOf(call.content);
      for (const item of shown) if (item.type === "diff") state.diffs.add(item.path);
      const isNew = JSON.stringify(shown) !== JSON.stringify(state.content);
      if (isNew) state.content = shown;
      // What comes with its end is in the result.
      if (isNew && !isEnd(call)) news.content = shown;
      events.push(...said(state, text, true));
    }
    events.push(...said(state, terminalText(call), false));
    if (Object.keys(news).length > 0) events.unshift({ type: "tool_update", metadata: { call_id: state.id, ...news } });
    return events;
  };

  /** Text of a call: the part that was added, or all of it where it was replaced. */
  const said = (state: CallState, text: string, isWhole: boolean): AgentEvent[] => {
    if (text === "" || (isWhole && text === state.text)) return [];
    const isGrown = isWhole && text.startsWith(state.text);
    const chunk = isGrown ? text.slice(state.text.length) : text;
    state.text = startOf(isWhole ? text : state.text + text, limits.outputChars);
    return [{ type: "tool_progress", metadata: { call_id: state.id, stream: "stdout", chunk } }];
  };

  const ended = (state: CallState, success: boolean, error: string | null): AgentEvent => {
    state.endedAt = clock();
    const shown = state.content.filter((item) => item.type !== "text");
    return {
      type: "tool_result",
      metadata: {
        call_id: state.id,
        success,
        output: state.text,
        ...(error !== null && { error }),
        duration_ms: Math.max(0, state.endedAt - state.startedAt),
        ...(shown.length > 0 && { content: shown }),
        ...(isUnasked(state) && { unasked: true }),
      },
    };
  };

  const take = (call: ToolCallUpdate, isNew: boolean): AgentEvent[] => {
    const known = calls.get(call.toolCallId);
    const isOver = known !== undefined && known.endedAt !== null;
    // Some agents tell more of a call that has ended; only a new announcement begins another.
    if (isOver && !isNew) return [];
    const state = known && !isOver ? known : begin(call);
    const events: AgentEvent[] = state === known ? [] : [announced(state)];
    events.push(...changed(state, call));
    if (!isEnd(call)) return events;
    const raw = state.text === "" ? outputOf(call.rawOutput) : "";
    if (raw !== "") state.text = startOf(raw, limits.outputChars);
    const success = call.status === "completed";
    events.push(ended(state, success, success ? null : state.text || "the tool failed"));
    return events;
  };

  const setOptions = (now: EngineOption[]): AgentEvent[] => {
    if (JSON.stringify(now) === JSON.stringify(options)) return [];
    options = now;
    return [{ type: "options_changed", metadata: { options } }];
  };

  const kinds: Readonly<Record<string, (update: never) => AgentEvent[]>> = {
    tool_call: (update: Update<"tool_call">) => take(update as ToolCallUpdate, true),
    tool_call_update: (update: Update<"tool_call_update">) => take(update, false),
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
    current_mode_update: ({ currentModeId }: Update<"current_mode_update">) =>
      setOptions(options.map((option) => (option.id === "mode" ? { ...option, value: currentModeId } : option))),
    config_option_update: ({ configOptions }: Update<"config_option_update">) =>
      setOptions(withModes(configOptions.flatMap(optionOf), options)),
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
    // What a person typed is in the log already.
    user_message_chunk: () => [],
  };

  return {
    /** What the engine counts of its own session. */
    get spent() {
      return spent;
    },
    get options(): readonly EngineOption[] {
      return options;
    },
    /** The method that sets an option which was made of modes or models; undefined for one of the engine's own options. */
    setterOf: (id: string) => setters.get(id),
    /** The events of an option that was set. */
    chose: (id: string, value: string | boolean) =>
      setOptions(options.map((option) => (option.id === id ? { ...option, value } : option))),
    /** Begins a turn: `turnCalls` are those made since. */
    beginTurn() {
      turnCalls = [];
      messages.clear();
    },
    turnCalls: (): readonly CallState[] => turnCalls,
    /** The events of one update. */
    of(update: UnknownUpdate): AgentEvent[] {
      const kind = String(update["sessionUpdate"]);
      const spoken = SPOKEN[kind];
      if (spoken) {
        const events = spokenEvents(spoken, update["content"]);
        const { messageId } = update;
        const before = messages.get(kind);
        if (messageId === before) return events;
        messages.set(kind, messageId);
        // Two messages in a row stay two, also when nothing else stands between them.
        return before === undefined ? events : [{ type: "part_end", metadata: { kind: spoken.part } }, ...events];
      }
      const handle = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
      if (!handle) return [vendor(kind, update)];
      const read = v.safeParse(updateSchemas[kind as keyof typeof updateSchemas] as v.GenericSchema, update);
      return read.success ? handle(read.output as never) : [vendor(kind, update)];
    },
    /** Announces or updates the call that a permission is asked for, and returns it. */
    asked(call: ToolCallUpdate) {
      const events = take({ ...call, status: null }, !calls.has(call.toolCallId));
      const state = calls.get(call.toolCallId)!;
      state.asked = true;
      return { call: state, events };
    },
    /** Ends the calls that are left when a turn ends: an engine says nothing more of one that was refused. */
    endOpen: (reason: string): AgentEvent[] =>
      [...calls.values()].flatMap((state) => (state.endedAt === null ? [ended(state, false, reason)] : [])),
    /** The settings that the engine offers, from what it answers when a session is opened. */
    opened({ modes, configOptions, models }: OpenAnswer): AgentEvent[] {
      const own = (configOptions ?? []).flatMap(optionOf);
      const [mode, model] = [modesOf(modes, own), modelsOf(models, own)];
      if (mode.length > 0) setters.set("mode", "session/set_mode");
      if (model.length > 0) setters.set("model", "session/set_model");
      return setOptions([...mode, ...model, ...own]);
    },
  };
}

// --- internal ---

function isEnd({ status }: ToolCallUpdate): boolean {
  return status === "completed" || status === "failed";
}

const LEVELS = ["warning", "error"] as const;

type Update<K extends SessionUpdate["sessionUpdate"]> = Extract<SessionUpdate, { sessionUpdate: K }>;

/** Kind of update -> who speaks. The two kinds that come by the thousand are not validated as a whole. */
const SPOKEN: Readonly<Record<string, Speaker>> = {
  agent_message_chunk: { delta: "text_delta", role: "agent", part: "text" },
  agent_thought_chunk: { delta: "thought_delta", role: "thought", part: "reasoning" },
};

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

/** What a call is called by whose engine gives it no name: rules and remembered answers go by it. */
const TOOL_OF_KIND: Readonly<Record<ToolKind, string>> = {
  read: "Read",
  edit: "Edit",
  delete: "Delete",
  move: "Move",
  search: "search",
  execute: "Bash",
  think: "think",
  fetch: "fetch",
  switch_mode: "switch_mode",
  other: "other",
};

function vendor(name: string, data: unknown): AgentEvent {
  const size = JSON.stringify(data)?.length ?? 0;
  const kept = size <= limits.vendorBytes ? (data as Json) : `${size} characters, more than are kept`;
  return { type: "vendor", metadata: { name: startOf(name, 120), data: kept } };
}
