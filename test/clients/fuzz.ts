// Random calls, right and wrong, in random order on several sessions; from a seed, so that a run can be had again.
import { METHODS as STANDARD } from "../../packages/acp-server/src/standard/methods.js";
import type { Frame } from "../peer.js";
import { type Editor, launch } from "./editor.js";

export interface FuzzReport {
  /** Requests sent, and how many of them were answered exactly once. */
  readonly sent: number;
  readonly answeredOnce: number;
  /** Answers that belong to no request, except answers to lines without an id. */
  readonly strays: readonly Frame[];
  /** Updates and results the schema forbids. */
  readonly problems: readonly string[];
  readonly codes: ReadonlyMap<number, number>;
  /** Child processes of the program after everything was cancelled. */
  readonly children: readonly string[];
  readonly exitCode: number | null;
  readonly stderr: string;
}

const SESSIONS = 8;
/** Requests that may wait for their answer at once. */
const WINDOW = 32;

const script = {
  repeat: true,
  turns: [
    { steps: [{ reply: [{ thought: "hm" }, { text: "a few words", chunks: 3 }] }] },
    { steps: [{ reply: [{ call: "Bash", args: { command: "touch x" } }] }, { reply: [{ text: "ran" }] }] },
    { steps: [{ reply: [{ text: "slow ".repeat(20), chunks: 20, delayMs: 3 }] }] },
    { steps: [{ reply: [{ error: { code: "bad_request", message: "no\nluck" } }] }] },
    { steps: [{ reply: [{ call: "Read", args: "{broken" }] }, { reply: [{ text: "sorry" }] }] },
  ],
};

export async function fuzz(options: {
  readonly calls: number;
  readonly seed: number;
  readonly children: (pid: number) => string[];
}): Promise<FuzzReport> {
  const random = mulberry(options.seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const editor = launch("otter", { script, args: ["--log-level", "silent"] });
  editor.answer((frame) => answerFor(frame, random()));
  await editor.request("initialize", { protocolVersion: 1, clientCapabilities: { session: { notices: {} } } });
  const sessions: string[] = [];
  for (let i = 0; i < SESSIONS; i++) {
    const { result } = await editor.request("session/new", { cwd: editor.cwd, mcpServers: [] });
    sessions.push(result.sessionId);
  }
  /** Those that were replaced too: a question in them may still be unanswered. */
  const ever = new Set(sessions);
  const open = new Set<Promise<Frame>>();
  const ids: number[] = [];
  for (let i = 0; i < options.calls; i++) {
    const { method, params } = callFor(pick, sessions, editor.cwd);
    const { id, answer } = editor.start(method, params);
    ids.push(id);
    const done = answer.then((frame) => {
      open.delete(done);
      if (method === "session/new" && frame.result) {
        sessions[Math.floor(random() * SESSIONS)] = frame.result.sessionId;
        ever.add(frame.result.sessionId);
      }
      return frame;
    });
    open.add(done);
    if (i % 7 === 0)
      editor.notify(pick(["session/cancel", "session/prompt", "nothing", "$/cancel_request"]), noise(pick));
    if (i % 50 === 0) editor.send(pick(["{", "[]", '"x"', "null", '{"jsonrpc":"1.0","id":1}', '{"id":{}}', "\u0000"]));
    while (open.size >= WINDOW) {
      for (const sessionId of sessions) editor.notify("session/cancel", { sessionId });
      await Promise.race([...open, pause()]);
    }
  }
  await settle(editor, open, ever);
  const children = options.children(editor.child.pid!);
  editor.child.stdin.end();
  const exitCode = await editor.exited;
  const report = reportOf(editor, ids, exitCode, children);
  await editor.dispose();
  return report;
}

// --- internal ---

async function settle(editor: Editor, open: ReadonlySet<Promise<Frame>>, sessions: ReadonlySet<string>): Promise<void> {
  while (open.size > 0) {
    for (const sessionId of sessions) editor.notify("session/cancel", { sessionId });
    await Promise.race([Promise.all(open), pause()]);
  }
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 50));

function reportOf(
  editor: Editor,
  ids: readonly number[],
  exitCode: number | null,
  children: readonly string[],
): FuzzReport {
  const answers = editor.frames.filter((frame) => frame.method === undefined);
  const counts = new Map<unknown, number>();
  for (const { id } of answers) counts.set(id, (counts.get(id) ?? 0) + 1);
  const codes = new Map<number, number>();
  for (const { error } of answers) if (error) codes.set(error.code, (codes.get(error.code) ?? 0) + 1);
  const known = new Set<unknown>([null, ...Array.from({ length: SESSIONS + 2 }, (_, i) => i), ...ids]);
  return {
    sent: ids.length,
    answeredOnce: ids.filter((id) => counts.get(id) === 1).length,
    strays: answers.filter((frame) => !known.has(frame.id)),
    problems: editor.problems().filter((problem) => problem.startsWith("agent: ") && !OWN_FAULT.test(problem)),
    codes,
    children,
    exitCode,
    stderr: editor.stderr(),
  };
}

/** The schema has no cancel with an id, and a line without an id gets no answer. */
const OWN_FAULT = /no request has the id|no response session\/cancel/;

type Pick = <T>(list: readonly T[]) => T;

/** Every method of standard ACP, prompts the most often, and some that standard ACP does not have. */
const METHODS = [
  ...Object.keys(STANDARD),
  "session/prompt",
  "session/prompt",
  "initialize",
  "session/message",
  "_x/y",
  "constructor",
];

/** A call that is right more often than not. */
function callFor(pick: Pick, sessions: readonly string[], cwd: string): { method: string; params: unknown } {
  const method = pick(METHODS);
  // Deleting is rare, so that the sessions live long enough to be tried.
  if (method === "session/delete" && pick([0, 0, 0, 1]) === 0) return { method: "session/list", params: {} };
  const right = {
    sessionId: pick([...sessions, ...sessions, "otter-20260101T000000-00000000"]),
    cwd,
    mcpServers: [],
    prompt: [
      { type: "text", text: pick(["hello", "/undo", "/redo 2", "/help", "/mode auto", "/mode review", "/clear", ""]) },
    ],
    modeId: pick(["auto", "review", "read-only", "none"]),
    configId: pick(["mode", "model", "agent", "read_only", "none"]),
    value: pick(["auto", "offline", "build", true]),
    modelId: "x",
    title: pick(["a title", "", "two\nlines"]),
    methodId: "environment",
    sinceEventId: pick([0, 5, -1, "x", 1e9]),
    steps: pick([1, 2, 100]),
  };
  // The model stays scripted: another one would end the fun.
  if (method === "session/set_model" || right.configId === "model")
    return { method, params: { sessionId: right.sessionId } };
  return { method, params: pick([right, right, right, right, { ...right, ...noise(pick) }, noise(pick)]) };
}

function noise(pick: Pick): Record<string, unknown> {
  const values = [null, 0, -1, "", "x", [], {}, true, { a: { b: [1] } }, "\u0000", "x".repeat(1000), [null], 1e308];
  const names = ["sessionId", "prompt", "cwd", "mcpServers", "modeId", "requestId", "_meta", "__proto__", "value"];
  return Object.fromEntries(Array.from({ length: pick([0, 1, 2, 3]) }, () => [pick(names), pick(values)]));
}

/** What a person might say to a question, nonsense included; sometimes nothing. */
function answerFor(frame: Frame, chance: number): unknown {
  if (frame.method !== "session/request_permission") return {};
  if (chance < 0.1) return undefined;
  if (chance < 0.2) return { outcome: { outcome: "cancelled" } };
  if (chance < 0.3) return { nonsense: 1 };
  const options = ["allow_once", "reject_once", "reject_once", "unknown"];
  return { outcome: { outcome: "selected", optionId: options[Math.floor(chance * 100) % options.length] } };
}

function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
