/**
 * Commands in any order and at once, with evictions, restarts and kills between them, also in the middle of a turn, over real files. The
 * goal: nothing about a session depends on which of these happened. The method: after each of them the session, and the files of its
 * workspace, are compared with a fold of the log that is written for these tests.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionRecord } from "@chimera/acp-schema/events";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isSessionError, type OwnedSession, type SettingChange, sessionSummaries } from "../src/index.js";
import { filesOf, kill, newWorld, ORDERS, restart, settled, use, type World } from "./any-order-world.js";
import { recordsOf } from "./fixture.js";
import { plainFold, type State, stateOf } from "./plain-fold.js";

type Act =
  | { readonly do: "prompt"; readonly words: readonly string[] }
  | { readonly do: "undo" | "redo"; readonly steps: number }
  | { readonly do: "set"; readonly change: SettingChange }
  | { readonly do: "title"; readonly title: string }
  | { readonly do: "share" | "answer"; readonly yes: boolean }
  | { readonly do: "cancel" | "withdraw" | "go on" | "clear" | "close" };

type Command =
  | Act
  | { readonly do: "at once"; readonly acts: readonly Act[] }
  | { readonly do: "fork" | "tear down" | "delete" | "leave" | "evict" | "restart" | "kill" };

/** The prompts: each word is an action of the turn. `wait` waits for the command `go on`; `a` and `b` write a file, `-a` removes it. */
const words = fc.constantFrom("a", "a", "b", "b", "-a", "call", "fail", "remember", "job", "wait", "ask", "question");
const one = fc.constantFrom("a", "b", "c");

const acts: fc.Arbitrary<Act> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("prompt"), words: fc.array(words, { maxLength: 4 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("prompt"),
      words: fc.constantFrom(["/cost"], ["/undo"], ["/redo"], ["/clear"], ["/compact"]),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constantFrom("undo", "redo"), steps: fc.integer({ min: 1, max: 3 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("set"),
      change: fc.oneof(
        fc.record({ mode: fc.constantFrom("auto", "review", "read-only") }),
        fc.record({ option: fc.constantFrom("auto_approve_writes", "read_only"), value: fc.boolean() }),
        fc.record({ approval: fc.constantFrom(...ORDERS.approval) }),
        fc.record({ option: fc.constant("tone"), value: one }),
        fc.record({ model: one }),
        fc.record({ agent: one }),
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("title"), title: one }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("share"), yes: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("answer"), yes: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom("go on", "cancel", "withdraw") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("clear", "close") }) },
);

const commands: fc.Arbitrary<Command> = fc.oneof(
  { weight: 20, arbitrary: acts },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("at once"), acts: fc.array(acts, { minLength: 2, maxLength: 4 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("fork", "tear down", "delete", "leave") }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom("evict", "restart", "kill") }) },
);

test("a session and its files match its log after any order of commands, evictions, restarts and kills", {
  timeout: 900_000,
}, async () => {
  const numRuns = Number(process.env["CHIMERA_ANY_ORDER"] ?? 20);
  const place = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
  const property = fc.asyncProperty(fc.array(commands, { minLength: 1, maxLength: 25, size: "max" }), async (list) => {
    const base = mkdtempSync(join(place, "any-order-"));
    const world = await newWorld(base);
    try {
      for (const command of list) await run(world, command);
    } finally {
      await world.program.stop();
      rmSync(base, { recursive: true, force: true });
    }
  });
  await fc.assert(property, { numRuns });
});

// --- what each command does ---

async function run(world: World, command: Command): Promise<void> {
  const { sessions, clock, leave } = world.program;
  const session = await sessions.load(world.id);
  const before = stateOf(session);
  const records = await recordsOf(sessions, world.id);
  /** Nothing that was recorded is lost or changed. */
  const comesBack = async (as: State): Promise<void> => {
    const { sessions: again } = world.program;
    const now = stateOf(await again.load(world.id));
    expect((await recordsOf(again, world.id)).slice(0, records.length).map(contentOf)).toEqual(records.map(contentOf));
    const isBetweenTurns = before.running.length + before.waiting.length === 0;
    // The running turn and jobs have ended. The end of a turn changes only what can be undone.
    const { undoable, redoable, messages, said, outcomes, title } = now;
    expect(now).toEqual({
      ...as,
      jobs: [],
      ...(!isBetweenTurns && { ...ENDED, undoable, redoable, messages, said, outcomes, title }),
    });
  };
  switch (command.do) {
    case "at once":
      await Promise.all(command.acts.map((act) => perform(world, session, act)));
      break;
    case "fork":
      if (!session.conversation.turns.some(({ ended }) => ended)) break;
      await fork(world, before, records);
      break;
    case "tear down":
    case "delete":
      await (command.do === "delete" ? sessions.delete(world.id) : sessions.tearDown(world.id));
      world.gone.push(world.id);
      use(world, (await sessions.create({ cwd: world.cwd })).id);
      break;
    case "leave":
      leave(world.id);
      break;
    case "evict":
      clock.now += 5000;
      sessions.evictIdle();
      if (before.running.length === 0 || !session.attended) await comesBack(before);
      break;
    case "restart":
      await restart(world);
      await comesBack(narrowed(before));
      break;
    case "kill":
      await kill(world);
      await comesBack(narrowed(before));
      break;
    default:
      await perform(world, session, command);
  }
  await settled(world);
  await expectFold(world);
}

/** Without the time, which a log that a test copies by hand gets anew. */
const contentOf = ({ id: _id, ts: _ts, ...content }: SessionRecord) => content;

/** A fork has the past and the settings of its parent, but is not shared. */
async function fork(world: World, parent: State, records: readonly SessionRecord[]): Promise<void> {
  const { sessions } = world.program;
  const child = await sessions.fork(world.id);
  const copied = await recordsOf(sessions, child.id);
  const at = copied.findLastIndex(({ type }) => type === "forked");
  expect(copied.slice(0, at)).toEqual(records.slice(0, at));
  const { model, agent, flags, options, running, waiting } = parent;
  expect(stateOf(child)).toMatchObject({ model, agent, flags, options, isShared: false, ...ENDED });
  const summary = child.summary();
  expect(await sessionSummaries.derive(child.id, summary, sessions.logs.read(child.id))).toEqual(summary);
  if (running.length + waiting.length === 0) {
    const { undoable, redoable, messages, said, outcomes, title } = parent;
    expect(stateOf(child)).toMatchObject({ undoable, redoable, messages, said, outcomes, title });
    const { ended_at, turns, prompt, success } = (await sessions.load(world.id)).summary();
    expect(summary).toMatchObject({ ended_at, turns, prompt, success });
  }
  use(world, child.id);
}

async function expectFold(world: World): Promise<void> {
  const { sessions } = world.program;
  const session = await sessions.load(world.id);
  await settled(world);
  const { state, files } = plainFold(await recordsOf(sessions, world.id), world.found);
  expect(stateOf(session)).toEqual(state);
  expect(session.queued).toBe(state.waiting.length);
  expect(session.state).toBe(state.running.length > 0 ? "running" : "idle");
  expect(filesOf(world)).toEqual(files);
  for (const id of world.gone) await expect(sessions.load(id)).rejects.toMatchObject({ code: "session_not_found" });
}

/** The reasons for which a command may be refused if others came first. */
const REFUSALS = ["turn_running", "session_closed", "already_resolved"];

async function perform(world: World, session: OwnedSession, act: Act): Promise<void> {
  try {
    await doing(world, session, act);
  } catch (error) {
    if (!isSessionError(error) || !REFUSALS.includes(error.code)) throw error;
  }
}

function doing({ program, id }: World, session: OwnedSession, act: Act): unknown {
  switch (act.do) {
    case "prompt":
      return session.prompt({ text: act.words.join(" ") }).durable;
    case "undo":
    case "redo":
      return session[act.do]({ steps: act.steps });
    case "set":
      return session.set(act.change);
    case "title":
      return session.setTitle(act.title);
    case "share":
      return session.share(act.yes);
    case "answer": {
      const [permission] = session.openPermissions.keys();
      const [asked] = session.openQuestions.keys();
      if (permission !== undefined) return session.answer(permission, act.yes ? "allow" : "deny");
      return asked === undefined ? undefined : session.answerQuestion(asked, act.yes ? "yes" : null);
    }
    case "withdraw": {
      const waiting = session.conversation.turns.findLast(({ started, ended }) => !started && !ended);
      return waiting && session.cancel(waiting.number);
    }
    case "go on":
      return program.stops.get(id)?.();
    case "close":
      return program.sessions.close(id);
    default:
      return session[act.do]();
  }
}

// --- what a process that ends leaves ---

const ENDED = { running: [], waiting: [], permissions: [], questions: [], calls: [], jobs: [] };

/** The flags and the approval of the start, where the session had more. */
function narrowed(state: State): State {
  const approval = ORDERS.approval.indexOf(String(state.options["approval"])) > 1 ? "auto" : state.options["approval"];
  return { ...state, flags: [false, false, state.flags[2] === true], options: { ...state.options, approval } };
}
