/** Takes one turn with an agent, collects its events, and checks the rules that hold for every turn. */
import { type AgentEvent, endsTurn, metadata, type RecordType } from "@chimera/acp-schema/events";
import * as v from "valibot";
import { expect } from "vitest";
import { resolvePath } from "../src/files/real-path.js";
import type { AgentContext, AgentOptions, Ask, Tool, Turn, TurnSettings } from "../src/index.js";
import { createAgent, defaultSettings } from "../src/index.js";

export interface TurnRequest {
  readonly prompt?: string;
  readonly content?: Turn["prompt"]["content"];
  readonly history?: Turn["history"];
  readonly number?: number;
  readonly seen?: Turn["seen"];
  readonly compact?: Turn["compact"];
  readonly settings?: Partial<TurnSettings>;
  readonly context?: Partial<AgentContext>;
  /** Called with each event before the next one is taken. */
  readonly onEvent?: (event: AgentEvent, index: number) => void;
}

const settings: TurnSettings = { ...defaultSettings, model: "test", autoApproveWrites: true, autoApproveExecute: true };

export async function takeTurn(options: AgentOptions, request: TurnRequest = {}): Promise<AgentEvent[]> {
  const events = await listen(options, request);
  checkRules(events);
  return events;
}

/** Takes a turn without checking the rules, for tests that take thousands of turns. */
export async function listen(options: AgentOptions, request: TurnRequest = {}): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of createAgent(options)(turnOf(request), contextOf(request))) {
    events.push(event);
    request.onEvent?.(event, events.length - 1);
  }
  return events;
}

export function turnOf(request: TurnRequest): Turn {
  const { prompt = "go", content, history = [], number = 0, seen, compact, settings: changed } = request;
  return {
    sessionId: "s",
    number,
    prompt: { text: prompt, ...(content ? { content } : {}) },
    history,
    seen: seen ?? [],
    ...(compact && { compact }),
    settings: { ...settings, ...changed },
  };
}

export function contextOf({ context, settings: changed }: TurnRequest): AgentContext {
  const { ask = async () => ({ decision: "deny", by: "timeout" }) as const, ...given } = context ?? {};
  return {
    ask: judged({ ...settings, ...changed }, given.workspace?.cwd ?? "/nowhere", ask),
    workspace: {
      cwd: "/nowhere",
      directories: [],
      readText: async () => "",
      writeText: async () => {},
      willWrite: async () => {},
      willRun: async () => async () => [],
    },
    signal: new AbortController().signal,
    flags: () => ({ ...settings, ...changed }),
    fail(error) {
      throw error;
    },
    session: { recall: () => null, remember: async () => {}, emit() {} },
    ...given,
  };
}

/** A session's rules in short: the mode decides about calls inside the workspace, and the test about the others. */
function judged({ readOnly, autoApproveWrites, autoApproveExecute }: TurnSettings, cwd: string, ask: Ask): Ask {
  return async (request) => {
    const { kind, touches } = request.call ?? {};
    if (!kind || !touches) return ask(request);
    const isReading = ["read", "search", "think"].includes(kind);
    if (readOnly && !isReading) return { decision: "deny", by: "rule", why: "the session is read-only" };
    const isInside = [...touches.reads, ...touches.writes].every(
      (path) => resolvePath(path, { cwd, directories: [] }).inside,
    );
    const isApproved = isReading || (kind === "execute" ? autoApproveExecute : autoApproveWrites);
    return isInside && isApproved ? { decision: "allow", by: "rule" } : ask(request);
  };
}

/** Checks that every event fits its schema, every call has one result, and one last record follows the turn's end. */
export function checkRules(events: readonly AgentEvent[]): void {
  for (const event of events) v.parse(metadata[event.type] as v.GenericSchema, event.metadata);
  const calls = of(events, "tool_call").map((call) => call.call_id);
  const results = of(events, "tool_result").map((result) => result.call_id);
  expect(new Set(calls).size).toBe(calls.length);
  expect(results.toSorted()).toEqual(calls.toSorted());
  for (const id of calls) {
    const called = events.findIndex((event) => event.type === "tool_call" && event.metadata.call_id === id);
    expect(called).toBeLessThan(
      events.findIndex((event) => event.type === "tool_result" && event.metadata.call_id === id),
    );
  }
  expect(events.filter((event) => endsTurn(event.type))).toHaveLength(1);
  expect(endsTurn(events.at(-1)?.type ?? "")).toBe(true);
  expect(events.at(-2)?.type).toBe("turn_end");
  expect(of(events, "step_start").length).toBe(of(events, "step_end").length);
}

/** The metadata of all events of a type. */
export function of<T extends RecordType>(events: readonly AgentEvent[], type: T) {
  return events
    .filter((event) => event.type === type)
    .map((event) => event.metadata as Extract<AgentEvent, { type: T }>["metadata"]);
}

/** The results in the order of their calls, because calls that run side by side end in any order. */
export function resultsOf(events: readonly AgentEvent[]) {
  const results = of(events, "tool_result");
  return of(events, "tool_call").flatMap((call) => results.filter((result) => result.call_id === call.call_id));
}

export function textOf(events: readonly AgentEvent[]): string {
  return of(events, "text_delta")
    .map((delta) => delta.text)
    .join("");
}

/** A tool that accepts any object. */
export function toolNamed(name: string, run: Tool<Record<string, unknown>>["run"], more: Partial<Tool> = {}): Tool {
  const input = v.record(v.string(), v.unknown());
  return {
    name,
    aliases: [],
    description: `The tool ${name}.`,
    input,
    inputSchema: { type: "object" },
    kind: "read",
    parallel: true,
    describe: () => ({ title: name, locations: [], touches: { reads: [], writes: [] } }),
    run: run as Tool["run"],
    ...more,
  };
}
