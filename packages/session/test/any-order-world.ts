/** A session over real files for commands in any order, and the programs that have it one after another. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentEvent, SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createFileStore } from "@chimera/event-store";
import { createSnapshotStore } from "@chimera/snapshot-store";
import { type Agent, createSlashPalette } from "../src/index.js";
import { makeSessions, recordsOf } from "./fixture.js";
import { START } from "./plain-fold.js";

/** The values of options from the strictest on. */
export const ORDERS = { approval: ["read-only", "auto", "full"] };

export interface World {
  readonly base: string;
  readonly cwd: string;
  program: ReturnType<typeof start>;
  /** How many homes there were: a kill begins another one. */
  homes: number;
  /** The session that commands go to. */
  id: string;
  /** The files that it found when it was made, or forked. */
  found: Readonly<Record<string, string>>;
  /** Sessions that were deleted or torn down. */
  readonly gone: string[];
}

export async function newWorld(base: string): Promise<World> {
  const cwd = join(base, "work");
  mkdirSync(cwd);
  const program = start(join(base, "home-1"));
  const world: World = { base, cwd, program, homes: 1, id: "", found: {}, gone: [] };
  use(world, (await program.sessions.create({ cwd })).id);
  return world;
}

/** Commands go to this session from here on, and somebody answers its questions. */
export function use(world: World, id: string): void {
  world.id = id;
  world.found = filesOf(world);
  world.program.attend(id);
}

export const filesOf = ({ cwd }: Pick<World, "cwd">): Record<string, string> =>
  Object.fromEntries(readdirSync(cwd).map((name) => [name, readFileSync(join(cwd, name), "utf8")]));

/** Waits until nothing more happens without a command: no turn runs or waits, or the running turn waits for a command. */
export async function settled({ program: { sessions, stops }, id }: World): Promise<void> {
  const goesOn = () => {
    const session = sessions.find(id);
    if (!session || stops.has(id)) return false;
    const { openPermissions, openQuestions, state, queued } = session;
    return openPermissions.size + openQuestions.size === 0 && (state !== "idle" || queued > 0);
  };
  while (goesOn()) await new Promise(setImmediate);
}

export async function restart(world: World): Promise<void> {
  await world.program.stop();
  world.program = start(world.program.home);
}

/** Goes on with the files as a process that is killed leaves them: its claims are those of a process that is gone. */
export async function kill(world: World): Promise<void> {
  const { program } = world;
  const home = join(world.base, `home-${++world.homes}`);
  cpSync(program.home, home, { recursive: true, filter: (path) => !path.includes(".tmp-") });
  for (const entry of readdirSync(home, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.startsWith("claim.")) continue;
    const path = join(entry.parentPath, entry.name);
    writeFileSync(path, readFileSync(path, "utf8").replace(/"start":"\d+"/, '"start":"1"'));
  }
  if (!existsSync(join(home, "eventlog"))) await copyLog(world, home);
  await program.stop();
  world.program = start(home);
}

// --- internal ---

/** The log as it was written, where it is kept in a database. */
async function copyLog({ program: { sessions }, id }: World, home: string): Promise<void> {
  const store = createFileStore<SessionEvent, Summary>({ root: home });
  const writer = await store.create(id, (await sessions.logs.readSummary(id))!);
  for (const { seq: _seq, id: _id, ts: _ts, ...event } of await recordsOf(sessions, id))
    writer.append([event as SessionEvent]);
  await writer.close();
  await store.close();
}

/** A program over a home of its own. */
function start(home: string) {
  /** Session -> how to let its turn go on that waits. */
  const stops = new Map<string, () => void>();
  const clock = { now: 0 };
  const store = createFileStore<SessionEvent, Summary>({ root: home });
  const sessions = makeSessions(agentThat(stops), {
    store,
    snapshots: createSnapshotStore({ root: join(home, "snapshots") }),
    defaults: START,
    orders: ORDERS,
    ttl: 1,
    monotonic: () => clock.now,
    commands: createSlashPalette({ home: "/nonexistent" }),
  });
  const attached = new Map<string, { detach(): void }>();
  return {
    home,
    sessions,
    stops,
    clock,
    attend(id: string) {
      if (!attached.has(id)) attached.set(id, sessions.attach(id, { approves: true }));
    },
    leave(id: string) {
      attached.get(id)?.detach();
      attached.delete(id);
    },
    async stop() {
      await sessions.shutdown();
      await store.close();
    },
  };
}

/** Does what the words of its prompt say, and nothing once its turn is cancelled. */
function agentThat(stops: Map<string, () => void>): Agent {
  return async function* (turn, context) {
    const { prompt, number, compact } = turn;
    yield { type: "step_start", metadata: { step: 0 } };
    const tokens = { input: 2, output: 1, cache: 0, reasoning: 0 };
    yield { type: "usage", metadata: { ...tokens, total_usd: 0, priced: true, used: 1, size: 9 } };
    yield { type: "text_delta", metadata: { text: `answer to ${prompt.text}` } };
    if (compact) yield { type: "compaction", metadata: { summary: "so far", from_turn: number } };
    for (const [at, word] of prompt.text.split(" ").entries()) {
      if (context.signal.aborted) return;
      const done = WORDS[word]?.({ ...context, ...turn, callId: `${number}.${at}`, stops });
      if (done && Symbol.asyncIterator in done) yield* done;
      else await done;
    }
    if (!context.signal.aborted) yield { type: "step_end", metadata: { step: 0 } };
  };
}

type Doing = Parameters<Agent>[0] &
  Parameters<Agent>[1] & { readonly callId: string; readonly stops: Map<string, () => void> };

const WORDS: Readonly<Record<string, (doing: Doing) => AsyncIterable<AgentEvent> | Promise<unknown> | undefined>> = {
  a: (doing) => write(doing, "a", doing.callId),
  b: (doing) => write(doing, "b", doing.callId),
  "-a": (doing) => write(doing, "a", null),
  call: (doing) => call(doing, async () => true),
  ask: (doing) =>
    call(doing, async ({ ask, callId }) => {
      const { decision } = await ask({ call_id: callId, tool: "Read", args: {}, risk: "low" });
      return decision === "allow";
    }),
  question: ({ question, callId }) => question?.({ call_id: callId, question: "which?", options: [] }),
  wait: ({ sessionId, signal, stops }) =>
    new Promise<void>((resolve) => {
      const goOn = () => {
        stops.delete(sessionId);
        resolve();
      };
      stops.set(sessionId, goOn);
      signal.addEventListener("abort", goOn, { once: true });
    }),
  remember: ({ session, number }) => session.remember({ number }),
  async job({ session, callId }) {
    session.emit({ type: "job_started", metadata: { job_id: callId, call_id: callId, command: "sleep" } });
  },
  async fail() {
    throw new Error("on purpose");
  },
};

/** Writes a file, or removes it. Its record has the new text in the place of a diff. */
async function* write({ workspace, signal }: Doing, name: string, text: string | null): AsyncGenerator<AgentEvent> {
  const path = join(workspace.cwd, name);
  if (text === null && !existsSync(path)) return;
  await workspace.willWrite(path);
  if (signal.aborted) return;
  if (text === null) rmSync(path);
  else writeFileSync(path, text);
  yield { type: "file_edit", metadata: { path: name, diff: text ?? "", change: text === null ? "delete" : "update" } };
}

async function* call(doing: Doing, decide: (doing: Doing) => Promise<boolean>): AsyncGenerator<AgentEvent> {
  const called = { call_id: doing.callId, tool: "Read", args: {}, title: "Read", locations: [] };
  yield { type: "tool_call", metadata: { ...called, kind: "read" } };
  const success = await decide(doing);
  yield { type: "tool_result", metadata: { call_id: doing.callId, success, output: "", duration_ms: 1 } };
}
