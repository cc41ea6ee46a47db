/**
 * Makes calls of the log of what an engine says about its calls. A call that it announces late or twice, or ends twice, becomes one call.
 * Of output that it sends again, only the new part is kept.
 */
import type { ToolCallUpdate } from "@chimera/acp-schema";
import type { AgentEvent, Location, Metadata, ToolContent, ToolKind } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import { type CallState, isUnasked } from "./call-state.js";
import { limits } from "./limits.js";

export function createCalls(clock: () => number) {
  /** By the engine's id of a call. If the engine uses an id again, that is another call. */
  const calls = new Map<string, CallState>();
  let repeats = 0;
  let ofTurn: CallState[] = [];

  const begin = (call: ToolCallUpdate): CallState => {
    // Forget the oldest call, so that endless calls cannot fill the memory. From then on any id may have been used before.
    const isFull = calls.size >= limits.calls;
    const id = isFull || calls.has(call.toolCallId) ? `${call.toolCallId}~${++repeats}` : call.toolCallId;
    const state = newCall(id, call, clock());
    if (isFull) calls.delete(calls.keys().next().value!);
    calls.set(call.toolCallId, state);
    if (ofTurn.length < limits.calls) ofTurn.push(state);
    return state;
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
    if (state.text === "") state.text = startOf(outputOf(call.rawOutput), limits.outputChars);
    const success = call.status === "completed";
    events.push(ended(state, clock(), success, success ? null : state.text || "the tool failed"));
    return events;
  };

  return {
    take,
    /** Begins a turn. `ofTurn` returns the calls made since. */
    beginTurn() {
      ofTurn = [];
    },
    ofTurn: (): readonly CallState[] => ofTurn,
    /** Announces or updates the call that the engine asks permission for, and returns it. */
    asked(call: ToolCallUpdate) {
      // Some engines number their calls anew in each turn. What is asked about is not the call that has ended.
      const isOpen = calls.get(call.toolCallId)?.endedAt === null;
      const events = take({ ...call, status: null }, !isOpen);
      const state = calls.get(call.toolCallId)!;
      state.asked = true;
      return { call: state, events };
    },
    /** Ends the calls that are still running when a turn ends, because an engine does not report the end of a refused call. */
    endOpen: (reason: string): AgentEvent[] =>
      [...calls.values()].flatMap((state) => (state.endedAt === null ? [ended(state, clock(), false, reason)] : [])),
  };
}

// --- internal ---

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

function newCall(id: string, call: ToolCallUpdate, startedAt: number): CallState {
  const kind = call.kind ?? "other";
  return {
    id,
    tool: call.name || TOOL_OF_KIND[kind],
    kind,
    title: call.title || TOOL_OF_KIND[kind],
    args: argsOf(call.rawInput),
    locations: locationsOf(call.locations),
    diffs: new Set(),
    asked: false,
    startedAt,
    endedAt: null,
    text: "",
    shown: 0,
    content: [],
  };
}

function announced({ id, tool, args, kind, title, locations }: CallState): AgentEvent {
  return { type: "tool_call", metadata: { call_id: id, tool, args, kind, title, locations } };
}

/** The events of changes to a known call, except its end. */
function changed(state: CallState, call: ToolCallUpdate): AgentEvent[] {
  const told: Told = {
    ...(call.title && { title: call.title }),
    ...(call.kind && { kind: call.kind }),
    ...(call.rawInput != null && { args: argsOf(call.rawInput) }),
    ...(call.locations && { locations: locationsOf(call.locations) }),
  };
  const { text = "", shown } = call.content ? contentOf(call.content) : {};
  for (const item of shown ?? []) if (item.type === "diff") state.diffs.add(item.path);
  const news: Partial<Metadata<"tool_update">> = {
    ...differing(told, state),
    // Content that comes with the end of the call is part of its result.
    ...(!isEnd(call) && shown && differing({ content: shown }, state)),
  };
  Object.assign(state, told, shown && { content: shown });
  const update: AgentEvent = { type: "tool_update", metadata: { call_id: state.id, ...news } };
  return [
    ...(Object.keys(news).length > 0 ? [update] : []),
    ...said(state, text, true),
    ...said(state, terminalText(call), false),
  ];
}

/** What an engine may say again and again about a call. */
type Told = Partial<Pick<CallState, "title" | "kind" | "args" | "locations" | "content">>;

function differing(told: Told, state: CallState): Told {
  const isNew = ([name, value]: [string, unknown]) =>
    JSON.stringify(value) !== JSON.stringify(state[name as keyof Told]);
  return Object.fromEntries(Object.entries(told).filter(isNew));
}

/** The event of a call's new output: the added part, or all of it if the engine replaced it. No call shows more than is kept of one. */
function said(state: CallState, text: string, isWhole: boolean): AgentEvent[] {
  if (text === "" || (isWhole && text === state.text)) return [];
  const isGrown = isWhole && text.startsWith(state.text);
  const added = isGrown ? text.slice(state.text.length) : text;
  const chunk = startOf(added, limits.outputChars - state.shown);
  state.text = startOf(isWhole ? text : state.text + text, limits.outputChars);
  state.shown += chunk.length;
  return chunk === "" ? [] : [{ type: "tool_progress", metadata: { call_id: state.id, stream: "stdout", chunk } }];
}

function ended(state: CallState, now: number, success: boolean, error: string | null): AgentEvent {
  state.endedAt = now;
  const shown = state.content.filter((item) => item.type !== "text");
  return {
    type: "tool_result",
    metadata: {
      call_id: state.id,
      success,
      output: state.text,
      ...(error !== null && { error }),
      duration_ms: Math.max(0, now - state.startedAt),
      ...(shown.length > 0 && { content: shown }),
      ...(isUnasked(state) && { unasked: true }),
    },
  };
}

function isEnd({ status }: ToolCallUpdate): boolean {
  return status === "completed" || status === "failed";
}

function argsOf(raw: unknown): Record<string, unknown> {
  if (raw === undefined || raw === null) return {};
  return typeof raw === "object" && !Array.isArray(raw) ? (raw as Record<string, unknown>) : { input: raw };
}

function locationsOf(
  locations: readonly { path: string; line?: number | null | undefined }[] | null | undefined,
): Location[] {
  return (locations ?? []).map(({ path, line }) => (line == null ? { path } : { path, line }));
}

function contentOf(content: NonNullable<ToolCallUpdate["content"]>): {
  text: string;
  shown: ToolContent[];
} {
  const texts: string[] = [];
  const shown = content.flatMap((item): ToolContent[] => {
    if (item.type === "diff")
      return [{ type: "diff", path: item.path, old_text: item.oldText ?? null, new_text: item.newText }];
    // The engine was not offered terminals, so nothing here can show this one.
    if (item.type !== "content") return [];
    if (item.content.type !== "text") return [{ type: "block", block: item.content }];
    texts.push(item.content.text);
    return [];
  });
  return { text: texts.join("\n"), shown };
}

/** New output of a command, which some agents send beside the content. */
function terminalText(call: ToolCallUpdate): string {
  const output = (call as { _meta?: { terminal_output?: { data?: unknown } } })._meta?.terminal_output;
  return typeof output?.data === "string" ? output.data : "";
}

function outputOf(raw: unknown): string {
  if (typeof raw === "string") return raw;
  if (typeof raw !== "object" || raw === null) return "";
  for (const key of ["output", "formatted_output", "stdout", "aggregated_output", "text"]) {
    const value = (raw as Record<string, unknown>)[key];
    if (typeof value === "string" && value !== "") return value;
  }
  return JSON.stringify(raw);
}
