/**
 * Maps an engine's updates to agent events without loss. A call that the engine announces late or twice, or ends twice, becomes one call
 * of the log. Of text that it sends again, only the new part is kept. An update of an unknown kind is kept unchanged. Settings become
 * options, in all of ACP's forms: config options, modes, or the models of older agents.
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

export type Mapper = ReturnType<typeof createMapper>;

export interface OpenAnswer {
  readonly modes?: SessionModeState | null | undefined;
  readonly configOptions?: readonly SessionConfigOption[] | null | undefined;
  readonly models?: unknown;
}

export function createMapper(clock: () => number) {
  /** By the engine's id of a call. If the engine uses an id again, that is another call. */
  const calls = new Map<string, CallState>();
  let repeats = 0;
  let turnCalls: CallState[] = [];
  let options: EngineOption[] = [];
  const setters = new Map<string, "session/set_mode" | "session/set_model">();
  /** By kind of update: the id of the present message, if the engine gives its messages ids. */
  const messages = new Map<string, unknown>();
  let spent = { costUsd: 0, isPriced: false, used: 0, size: 0 };

  const begin = (call: ToolCallUpdate): CallState => {
    // Forget the oldest call, so that endless calls cannot fill the memory. From then on any id may have been used before.
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

  /** The events of changes to a known call, except its end. */
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
      // Content that comes with the end of the call is part of its result.
      if (isNew && !isEnd(call)) news.content = shown;
      events.push(...said(state, text, true));
    }
    events.push(...said(state, terminalText(call), false));
    if (Object.keys(news).length > 0) events.unshift({ type: "tool_update", metadata: { call_id: state.id, ...news } });
    return events;
  };

  /** The event of a call's new output: the added part, or all of it if the engine replaced it. */
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
    // Some agents send more updates of a call that has ended. Only a new announcement begins another call.
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
    // The log already has the person's prompt.
    user_message_chunk: () => [],
  };

  return {
    /** The cost and tokens that the engine counts for its own session. */
    get spent() {
      return spent;
    },
    get options(): readonly EngineOption[] {
      return options;
    },
    /** The method that sets an option made of modes or models; undefined for a config option. */
    setterOf: (id: string) => setters.get(id),
    /** The events after an option was set. */
    chose: (id: string, value: string | boolean) =>
      setOptions(options.map((option) => (option.id === id ? { ...option, value } : option))),
    /** Begins a turn. `turnCalls` returns the calls made since. */
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
        // Keep two messages apart even if nothing stands between them.
        return before === undefined ? events : [{ type: "part_end", metadata: { kind: spoken.part } }, ...events];
      }
      const handle = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
      if (!handle) return [vendor(kind, update)];
      const read = v.safeParse(updateSchemas[kind as keyof typeof updateSchemas] as v.GenericSchema, update);
      return read.success ? handle(read.output as never) : [vendor(kind, update)];
    },
    /** Announces or updates the call that the engine asks permission for, and returns it. */
    asked(call: ToolCallUpdate) {
      const events = take({ ...call, status: null }, !calls.has(call.toolCallId));
      const state = calls.get(call.toolCallId)!;
      state.asked = true;
      return { call: state, events };
    },
    /** Ends the calls that are still running when a turn ends, because an engine does not report the end of a refused call. */
    endOpen: (reason: string): AgentEvent[] =>
      [...calls.values()].flatMap((state) => (state.endedAt === null ? [ended(state, false, reason)] : [])),
    /** The events of the settings that the engine offers in its answer when a session is opened. */
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

/** By kind of update: the events of text. These two kinds come by the thousand and are not validated as a whole. */
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

/** The tool name of a call that the engine does not name. Rules and remembered answers refer to it. */
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
  const kept = size <= limits.vendorBytes ? (data as Json) : `${size} characters, too many to keep`;
  return { type: "vendor", metadata: { name: startOf(name, 120), data: kept } };
}

function optionOf(option: SessionConfigOption): EngineOption[] {
  const { id, name, description, category } = option;
  const head = { id, name, ...(description && { description }), ...(category && { category }) };
  if (option.type === "boolean") return [{ ...head, value: option.currentValue }];
  if (option.type !== "select") return [];
  const choices = option.options.flatMap((one) => ("options" in one ? one.options : [one]));
  return [{ ...head, value: option.currentValue, choices: choices.map((one) => choiceOf(one.value, one)) }];
}

/** The option for an agent's modes, unless its config options already have the mode. */
function modesOf(modes: SessionModeState | null | undefined, own: readonly EngineOption[]): EngineOption[] {
  if (!modes || own.some((one) => isAbout(one, "mode"))) return [];
  const choices = modes.availableModes.map((mode) => choiceOf(mode.id, mode));
  return [{ id: "mode", name: "Mode", category: "mode", value: modes.currentModeId, choices }];
}

const Models = v.object({
  currentModelId: v.string(),
  availableModels: v.array(v.object({ modelId: v.string(), name: v.string(), description: v.nullish(v.string()) })),
});

/** The option for the models of older agents, which the protocol no longer has. */
function modelsOf(models: unknown, own: readonly EngineOption[]): EngineOption[] {
  const read = v.safeParse(Models, models);
  if (!read.success || own.some((one) => isAbout(one, "model"))) return [];
  const choices = read.output.availableModels.map((model) => choiceOf(model.modelId, model));
  return [{ id: "model", name: "Model", category: "model", value: read.output.currentModelId, choices }];
}

/** A new list of config options, with the earlier options made of modes and models, which such a list leaves out. */
function withModes(now: EngineOption[], before: readonly EngineOption[]): EngineOption[] {
  const made = before.filter(({ id }) => (id === "mode" || id === "model") && !now.some((one) => isAbout(one, id)));
  return [...made, ...now];
}

function choiceOf(id: string, { name, description }: { name: string; description?: string | null | undefined }) {
  return { id, name, ...(description && { description }) };
}

function isAbout({ id, category }: EngineOption, what: string): boolean {
  return id === what || category === what;
}
