/**
 * One conversation with one session: its log goes to the screen, what is typed goes to the session. The agent is never
 * called from here, so several of these, and editors, may share a session.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Metadata, SessionRecord } from "@chimera/acp-schema/events";
import { endsTurn } from "@chimera/acp-schema/events";
import type { PaletteRow, SessionClient } from "../client/client.js";
import { EXIT_INTERRUPTED } from "../errors.js";
import { parseAnswer, permissionQuestion, permissionWords } from "../terminal/permission.js";
import { plainLine } from "../terminal/plain.js";
import type { Style } from "../terminal/style.js";
import { wrap } from "../terminal/wrap.js";
import { createPast } from "./past.js";
import { readable } from "./readable.js";
import type { Screen, ScreenEvents } from "./screen.js";
import { createView } from "./view.js";

/** A second Ctrl-C within this time leaves. */
const AGAIN_MS = 2000;
const TICK_MS = 100;

export interface ConversationOptions {
  readonly client: SessionClient;
  readonly style: Style;
  readonly openScreen: (events: ScreenEvents & { readonly complete: (line: string) => string[] }) => Screen;
  /** Opens another session, or with null a new one. */
  readonly openOther: (id: string | null) => Promise<SessionClient>;
  /** Whether somebody is here to be asked. */
  readonly approves: boolean;
  readonly greeting: readonly string[];
  /** Columns of the screen now; undefined where lines are never wrapped. */
  readonly width: () => number | undefined;
  readonly clock: () => number;
  readonly signal: AbortSignal;
}

/** How it ended: with an exit code, or in favour of another session. */
export type Ending = { readonly exit: number } | { readonly next: SessionClient };

type Question = Metadata<"permission_request">;

export async function converse(options: ConversationOptions): Promise<Ending> {
  const { client, style, clock } = options;
  const done = new AbortController();
  const signal = AbortSignal.any([options.signal, done.signal]);
  /** Turns that were prompted and have not ended. */
  const open = new Set<number>();
  let lastEnded = -1;
  /** Prompts on their way, and those that were seen as they were typed: the log's record of them is not shown again. */
  let sending = 0;
  const ownEchoes: string[] = [];
  const questions: Question[] = [];
  let commands: readonly PaletteRow[] = LOCAL_COMMANDS;
  let ending: Ending = { exit: 0 };
  let interruptedAt = Number.NEGATIVE_INFINITY;
  let past: ReturnType<typeof createPast> | null = client.head > 0 ? createPast() : null;

  const leave = (how: Ending) => {
    ending = how;
    done.abort();
  };
  const screen = options.openScreen({
    onEntry: (text) => {
      enter(text).catch((error: Error) => complain(error.message));
    },
    onInterrupt: interrupt,
    onEnd: () => leave({ exit: 0 }),
    complete: (line) =>
      /^\/\S*$/.test(line) ? commands.map(({ name }) => `/${name}`).filter((name) => name.startsWith(line)) : [],
  });
  const view = createView({ style, clock, width: options.width, print: screen.print });
  const complain = (text: string) => {
    screen.print(`${style.red(plainLine(text))}\n`);
    refresh();
  };

  function refresh(): void {
    const [question] = questions;
    if (question) screen.show({ kind: "asking", choices: permissionWords(question.options) });
    else if (past || open.size > 0 || sending > 0)
      screen.show({ kind: "busy", label: view.label(clock()) || "waiting" });
    else screen.show({ kind: "ready" });
  }

  function interrupt(): void {
    const again = clock() - interruptedAt < AGAIN_MS;
    interruptedAt = clock();
    if (again) {
      leave({ exit: EXIT_INTERRUPTED });
      return;
    }
    const busy = open.size > 0;
    if (busy) client.cancel().catch((error: Error) => complain(error.message));
    screen.print(`${style.dim(busy ? "cancelling; Ctrl-C again to leave" : "Ctrl-C again to leave")}\n`);
    refresh();
  }

  async function enter(text: string): Promise<void> {
    const [question] = questions;
    if (question) return answer(question, text);
    const entry = text.trim();
    const word = /^\/(\S+)(?:\s+(\S+))?/.exec(entry);
    if (entry === "") return refresh();
    if (word?.[1] === "exit" || word?.[1] === "quit") return leave({ exit: 0 });
    if (word?.[1] === "new") return leave({ next: await options.openOther(null) });
    if (word?.[1] === "resume" && word[2]) return leave({ next: await options.openOther(word[2]) });
    if (word?.[1] === "help") return help();
    // What was typed while something runs was not echoed; the log's own record of it shows where it stands.
    if (open.size === 0) ownEchoes.push(entry);
    sending++;
    refresh();
    try {
      const turn = await client.prompt({ text: entry });
      // The reply may overtake the record, or come after the turn's last one.
      if (turn > lastEnded) open.add(turn);
    } catch (error) {
      if (ownEchoes.at(-1) === entry) ownEchoes.pop();
      throw error;
    } finally {
      sending--;
      refresh();
    }
  }

  function help(): void {
    const width = Math.max(...commands.map(({ name }) => name.length)) + 3;
    const rows = commands.map(({ name, description }) => `${`/${name}`.padEnd(width)}${plainLine(description)}\n`);
    screen.print(`${rows.join("")}\n`);
    refresh();
  }

  async function answer(question: Question, text: string): Promise<void> {
    const decision = parseAnswer(text, question.options);
    if (!decision) return refresh();
    dropQuestion(question.permission_id);
    refresh();
    if (!(await client.answer(question.permission_id, decision))) complain("somebody else answered first");
  }

  function dropQuestion(id: string): void {
    const at = questions.findIndex(({ permission_id }) => permission_id === id);
    if (at < 0) return;
    questions.splice(at, 1);
    const [next] = questions;
    if (at === 0 && next) screen.print(`${permissionQuestion(next, style)}\n`);
  }

  /** What matters for what may be typed next, besides what is shown. */
  function track(record: SessionRecord): void {
    if (record.type === "user_message" && record.turn !== null) open.add(record.turn);
    if (endsTurn(record.type) && record.turn !== null) {
      open.delete(record.turn);
      lastEnded = record.turn;
      // The Ctrl-C that ended it has done its work; the next one starts over.
      interruptedAt = Number.NEGATIVE_INFINITY;
    }
    if (record.type === "permission_request" && options.approves) questions.push(record.metadata);
    if (record.type !== "permission_resolved") return;
    const { permission_id, decision, by } = record.metadata;
    const elsewhere = questions.some((question) => question.permission_id === permission_id);
    dropQuestion(permission_id);
    if (elsewhere && !past)
      screen.print(`  ${style.dim(by === "client" ? `answered elsewhere: ${decision}` : decision)}\n`);
  }

  function showLive(record: SessionRecord): void {
    const echoed = record.type === "user_message" && ownEchoes[0] === record.metadata.text;
    if (echoed) ownEchoes.shift();
    else view.apply(record);
    if (record.type === "permission_request" && questions[0]?.permission_id === record.metadata.permission_id)
      screen.print(`${permissionQuestion(record.metadata, style)}\n`);
  }

  function onRecord(raw: SessionRecord): void {
    const record = readable(raw);
    track(record);
    if (!past) showLive(record);
    else {
      past.add(record);
      if (record.seq >= client.head) endPast(past);
    }
    if (!past) refresh();
  }

  function endPast(ended: NonNullable<typeof past>): void {
    past = null;
    const { records, earlier } = ended.end();
    if (earlier > 0) screen.print(`${style.dim(`… ${earlier} earlier turns`)}\n\n`);
    for (const record of records) view.apply(record);
    const [question] = questions;
    if (question) screen.print(`${permissionQuestion(question, style)}\n`);
  }

  for (const line of options.greeting) screen.print(`${style.dim(wrap(line, options.width(), 0))}\n`);
  screen.print("\n");
  refresh();
  client.commands().then(
    (rows) => (commands = [...rows.filter(({ name }) => !isLocal(name)), ...LOCAL_COMMANDS]),
    () => {},
  );
  const ticking = tick(signal, () => open.size > 0 && questions.length === 0 && refresh());
  try {
    await client.follow({ from: 0, signal, onRecord, onNotice: (text) => screen.print(`${style.dim(text)}\n`) });
  } finally {
    done.abort();
    await ticking;
    screen.close();
  }
  return ending;
}

// --- internal ---

/** Answered here, since they are about this conversation and not about the session. */
const LOCAL_COMMANDS: readonly PaletteRow[] = [
  { name: "help", description: "List the commands" },
  { name: "new", description: "Start a new session" },
  { name: "resume", description: "Go on with another session: /resume <id>" },
  { name: "exit", description: "Leave" },
];

function isLocal(name: string): boolean {
  return LOCAL_COMMANDS.some((row) => row.name === name);
}

/** Keeps durations on the bottom line moving. */
async function tick(signal: AbortSignal, onTick: () => void): Promise<void> {
  while (!signal.aborted) {
    await delay(TICK_MS, undefined, { signal }).catch(() => {});
    if (!signal.aborted) onTick();
  }
}
