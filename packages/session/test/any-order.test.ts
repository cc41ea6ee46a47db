/**
 * Commands in any order, with evictions, restarts and kills between them. The goal: nothing about a session depends on which of these
 * happened. The method: after each of them the state is compared with what it was before, and with a fold of the log written here, in the
 * plainest way, by other code than the session's.
 */
import type { AgentEvent, SessionEvent, SessionRecord } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createMemoryStore, type EventStore } from "@chimera/event-store";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Agent, createSlashPalette, type OwnedSession, type Sessions } from "../src/index.js";
import { makeSessions, recordsOf } from "./fixture.js";

type Store = EventStore<SessionEvent, Summary>;

const START = { model: "m0", options: { approval: "auto", tone: "dry" } };
const ORDERS = { approval: ["read-only", "auto", "full"] };

/** Speaks, calls a tool, fails or remembers, by what it is asked. */
const agent: Agent = async function* ({ prompt, number }, { session }) {
  yield { type: "step_start", metadata: { step: 0 } } satisfies AgentEvent;
  yield { type: "text_delta", metadata: { text: `answer to ${prompt.text}` } } satisfies AgentEvent;
  if (prompt.text.includes("call")) {
    const call = { call_id: `c${number}`, tool: "Read", args: {}, kind: "read", title: "Read", locations: [] } as const;
    yield { type: "tool_call", metadata: { ...call, locations: [] } } satisfies AgentEvent;
    const result = { call_id: `c${number}`, success: true, output: "found", duration_ms: 1 };
    yield { type: "tool_result", metadata: result } satisfies AgentEvent;
  }
  if (prompt.text.includes("remember")) await session.remember({ number });
  if (prompt.text.includes("fail")) throw new Error("on purpose");
  yield { type: "step_end", metadata: { step: 0 } } satisfies AgentEvent;
};

const commands = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("prompt"),
      text: fc.constantFrom("hi", "call", "fail", "remember", "/cost"),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("undo", "redo"), steps: fc.integer({ min: 1, max: 3 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("mode"), value: fc.constantFrom("auto", "review", "read-only") }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("flag"),
      id: fc.constantFrom("auto_approve_writes", "read_only"),
      value: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("approval"), value: fc.constantFrom(...ORDERS.approval) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom("model", "agent", "tone", "title"),
      value: fc.constantFrom("a", "b", "c"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("clear", "fork", "close") }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("evict", "restart", "kill") }) },
);
type Command = { do: string; text?: string; steps?: number; value?: string | boolean; id?: string };

test("a session is the fold of its log after any commands, evictions, restarts and kills", {
  timeout: 120_000,
}, async () => {
  const numRuns = Number(process.env["CHIMERA_ANY_ORDER"] ?? 60);
  await fc.assert(
    fc.asyncProperty(fc.array(commands as fc.Arbitrary<Command>, { minLength: 1, maxLength: 25 }), async (list) => {
      const world = await newWorld();
      for (const command of list) await run(world, command);
      await world.sessions.shutdown();
    }),
    { numRuns },
  );
});

// --- the world the commands act on ---

interface World {
  store: Store;
  sessions: Sessions;
  id: string;
  now: number;
}

async function newWorld(): Promise<World> {
  const world = { store: createMemoryStore<SessionEvent, Summary>(), now: 0 } as World;
  world.sessions = open(world);
  world.id = (await world.sessions.create({ cwd: "/" })).id;
  return world;
}

function open(world: World): Sessions {
  return makeSessions(agent, {
    store: world.store,
    defaults: START,
    orders: ORDERS,
    ttl: 1,
    monotonic: () => world.now,
    commands: createSlashPalette({ home: "/nonexistent" }),
  });
}

async function run(world: World, command: Command): Promise<void> {
  const session = await world.sessions.load(world.id);
  const before = stateOf(session);
  switch (command.do) {
    case "prompt":
      session.prompt({ text: command.text ?? "" });
      await session.idle();
      break;
    case "undo":
    case "redo":
      await session[command.do]({ steps: command.steps });
      break;
    case "mode":
      await session.set({ mode: command.value as "auto" });
      break;
    case "flag":
      await session.set({ option: command.id ?? "", value: command.value === true });
      break;
    case "approval":
      await session.set({ approval: String(command.value) });
      break;
    case "model":
      await session.set({ model: String(command.value) });
      break;
    case "agent":
      await session.set({ agent: String(command.value) });
      break;
    case "tone":
      await session.set({ option: "tone", value: String(command.value) });
      break;
    case "title":
      await session.setTitle(String(command.value));
      break;
    case "clear":
      await session.clear();
      break;
    case "fork":
      if (session.conversation.turns.length > 0) world.id = (await world.sessions.fork(world.id)).id;
      break;
    case "close":
      await world.sessions.close(world.id);
      break;
    case "evict":
      world.now += 5000;
      world.sessions.evictIdle();
      expect(stateOf(await world.sessions.load(world.id))).toEqual(before);
      break;
    default:
      await end(world, command.do);
      expect(stateOf(await world.sessions.load(world.id))).toEqual(narrowed(before));
  }
  const now = await world.sessions.load(world.id);
  expect(stateOf(now)).toEqual(plainFold(await recordsOf(world.sessions, world.id)));
}

/** A restart lets go of everything in order; a kill leaves a log as it was written, and nothing else. */
async function end(world: World, how: string): Promise<void> {
  if (how === "restart") await world.sessions.shutdown();
  else {
    const copy = createMemoryStore<SessionEvent, Summary>();
    const summary = await world.store.readSummary(world.id);
    const writer = await copy.create(world.id, summary as Summary);
    for (const { seq: _seq, id: _id, ts: _ts, ...event } of await recordsOf(world.sessions, world.id))
      writer.append([event as SessionEvent]);
    await writer.close();
    world.store = copy;
  }
  world.sessions = open(world);
}

// --- the same state, by two ways ---

interface State {
  readonly model: string;
  readonly agent: string;
  readonly flags: readonly boolean[];
  readonly options: Readonly<Record<string, unknown>>;
  readonly title: string | null;
  readonly memory: unknown;
  readonly messages: readonly string[];
  readonly undoable: readonly number[];
  readonly redoable: readonly number[];
  readonly outcomes: readonly (string | undefined)[];
}

function stateOf({ settings, conversation }: OwnedSession): State {
  return {
    model: settings.model,
    agent: settings.agent,
    flags: [settings.autoApproveWrites, settings.autoApproveExecute, settings.readOnly],
    options: { ...settings.options },
    title: conversation.facts.title,
    memory: conversation.facts.memory,
    messages: conversation
      .messages(Number.POSITIVE_INFINITY)
      .flatMap((message) => (message.role === "user" ? message.text : [])),
    undoable: conversation.undoable().map(({ number }) => number),
    redoable: conversation.redoable().map(({ number }) => number),
    outcomes: conversation.turns.map(({ result }) => result?.output),
  };
}

/** What a restart leaves: the flags and the approval of the start, where the session had more. */
function narrowed(state: State): State {
  const approval = ORDERS.approval.indexOf(String(state.options["approval"])) > 1 ? "auto" : state.options["approval"];
  return { ...state, flags: [false, false, state.flags[2] === true], options: { ...state.options, approval } };
}

/** Written for this test, from what the records mean. */
function plainFold(records: readonly SessionRecord[]): State {
  const state = { model: "m0", agent: "build", title: null as string | null, memory: null as unknown };
  let flags = [false, false, false];
  let options: Record<string, unknown> = { ...START.options };
  const turns: {
    prompt: string;
    steps: number;
    done: boolean;
    undone: boolean;
    dead: boolean;
    output: string | undefined;
  }[] = [];
  let cleared = 0;
  for (const { type, turn, metadata } of records as readonly unknown[] as {
    type: string;
    turn: number | null;
    metadata: Record<string, never>;
  }[]) {
    const own = turn === null ? undefined : turns[turn];
    if (type === "user_message")
      turns.push({ prompt: metadata["text"]!, steps: 0, done: false, undone: false, dead: false, output: undefined });
    if (type === "step_start" && own) {
      if (own.steps === 0) for (const other of turns) if (other.undone) other.dead = true;
      own.steps++;
    }
    if ((type === "agent_result" || type === "cancelled") && own)
      Object.assign(own, { done: true, output: metadata["output"] });
    if (type === "model_changed") state.model = metadata["new"]!;
    if (type === "title_changed") state.title = metadata["title"]!;
    if (type === "agent_session") state.memory = metadata["state"];
    if (type === "mode_changed")
      flags = { auto: [true, true, false], review: [false, false, false], "read-only": [false, false, true] }[
        metadata["new"]!
      ] as boolean[];
    if (type === "approval_changed") options["approval"] = metadata["new"];
    if (type === "config_changed") {
      const at = ["auto_approve_writes", "auto_approve_execute", "read_only"].indexOf(metadata["id"]!);
      if (at >= 0) flags = flags.map((flag, index) => (index === at ? metadata["value"] === true : flag));
      else if (metadata["id"] === "agent") state.agent = metadata["value"]!;
      else options[metadata["id"]!] = metadata["value"];
    }
    if (type === "settings_reset") [flags, options] = [[false, false, false], { ...START.options }];
    if (type === "cleared") cleared = turns.length;
    const live = turns.map((_, number) => number).filter((number) => number >= cleared && turns[number]!.steps > 0);
    if (type === "undo")
      for (const number of live.filter((one) => turns[one]!.done && !turns[one]!.undone).slice(-metadata["turns"]!))
        turns[number]!.undone = true;
    if (type === "redo")
      for (const number of live.filter((one) => turns[one]!.undone && !turns[one]!.dead).slice(0, metadata["turns"]))
        turns[number]!.undone = false;
  }
  const numbers = turns.map((_, number) => number).filter((number) => number >= cleared && turns[number]!.steps > 0);
  return {
    ...state,
    flags,
    options,
    messages: numbers.filter((number) => !turns[number]!.undone).map((number) => turns[number]!.prompt),
    undoable: numbers.filter((number) => turns[number]!.done && !turns[number]!.undone),
    redoable: numbers.filter((number) => turns[number]!.undone && !turns[number]!.dead),
    outcomes: turns.map(({ output }) => output),
  };
}
