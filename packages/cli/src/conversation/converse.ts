/** One conversation: a session's log goes to the screen, what is typed goes to the session. Several may share one. */
import { setTimeout as delay } from "node:timers/promises";
import { endsTurn, type SessionRecord, SessionRecordSchema } from "@chimera/acp-schema/events";
import type { SessionClient } from "../client/client.js";
import { EXIT_INTERRUPTED } from "../errors.js";
import { wrap } from "../terminal/markdown.js";
import type { Style } from "../terminal/style.js";
import { plainLine } from "../terminal/text.js";
import { type LocalActions, listCommands, runLocalCommand, withLocalCommands } from "./local-commands.js";
import { createQuestions } from "./questions.js";
import type { Screen, ScreenEvents } from "./screen.js";
import { createPast, createTurns, type Past } from "./turns.js";
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
type Ending = { readonly exit: number } | { readonly next: SessionClient };

export async function converse(options: ConversationOptions): Promise<Ending> {
  const { client, style, clock } = options;
  const done = new AbortController();
  const signal = AbortSignal.any([options.signal, done.signal]);
  const turns = createTurns();
  /** Prompts seen as they were typed: the log's record of them is not shown again. */
  const echoed: string[] = [];
  let commands = withLocalCommands([]);
  let ending: Ending = { exit: 0 };
  let interruptedAt = Number.NEGATIVE_INFINITY;
  let past: Past | null = client.head > 0 ? createPast() : null;

  const screen = options.openScreen({
    onEntry: (text) => {
      enter(text).then(refresh, complain);
    },
    onInterrupt: interrupt,
    onEnd: () => leave({ exit: 0 }),
    complete: (line) =>
      /^\/\S*$/.test(line) ? commands.map(({ name }) => `/${name}`).filter((name) => name.startsWith(line)) : [],
  });
  const view = createView({ style, clock, width: options.width, print: screen.print });
  const questions = createQuestions({
    style,
    print: screen.print,
    width: options.width,
    live: () => past === null,
    answer: client.answer,
  });

  function leave(how: Ending): void {
    ending = how;
    done.abort();
  }

  function complain(error: Error): void {
    screen.print(`${style.red(plainLine(error.message))}\n`);
    refresh();
  }

  function refresh(): void {
    // Whoever has left takes no more input: what is still waiting belongs to the next conversation.
    if (done.signal.aborted) return;
    const { choices } = questions;
    if (choices !== null) screen.show({ kind: "asking", choices });
    else if (past || turns.busy) screen.show({ kind: "busy", label: view.label(clock()) || "waiting" });
    else screen.show({ kind: "ready" });
  }

  function interrupt(): void {
    const again = clock() - interruptedAt < AGAIN_MS;
    interruptedAt = clock();
    if (again) {
      leave({ exit: EXIT_INTERRUPTED });
      return;
    }
    if (turns.running) client.cancel().catch(complain);
    screen.print(`${style.dim(`${turns.running ? "cancelling; " : ""}Ctrl-C again to leave`)}\n`);
    refresh();
  }

  async function enter(text: string): Promise<void> {
    if (questions.choices !== null) return questions.reply(text);
    const entry = text.trim();
    if (entry === "" || (await runLocalCommand(entry, actions))) return;
    // What was typed while something runs was not echoed; the log's own record of it shows where it stands.
    if (!turns.running) echoed.push(entry);
    const sent = turns.send(() => client.prompt({ text: entry }));
    refresh();
    await sent.catch((error: unknown) => {
      if (echoed.at(-1) === entry) echoed.pop();
      throw error;
    });
  }

  const actions: LocalActions = {
    leave: () => leave({ exit: 0 }),
    help: () => screen.print(`${listCommands(commands)}\n`),
    open: async (id) => {
      const next = await options.openOther(id);
      if (id === null) await client.forgetFiles();
      leave({ next });
    },
  };

  function onRecord(raw: SessionRecord): void {
    const record = readable(raw);
    turns.apply(record);
    // The Ctrl-C that ended a turn has done its work; the next one starts over.
    if (endsTurn(record.type)) interruptedAt = Number.NEGATIVE_INFINITY;
    if (past) past.add(record);
    else if (record.type === "user_message" && echoed[0] === record.metadata.text) echoed.shift();
    else view.apply(record);
    if (options.approves) questions.apply(record);
    if (past && record.seq >= client.head) {
      const before = past;
      past = null;
      showPast(before);
    }
    if (!past) refresh();
  }

  function showPast(before: Past): void {
    const { records, earlier } = before.end();
    if (earlier > 0) screen.print(`${style.dim(`… ${earlier} earlier turns`)}\n\n`);
    for (const record of records) view.apply(record);
    questions.announce();
  }

  for (const line of options.greeting) screen.print(`${style.dim(wrap(line, options.width(), 0))}\n`);
  screen.print("\n");
  refresh();
  client.commands().then(
    (rows) => (commands = withLocalCommands(rows)),
    () => {},
  );
  const ticking = tick(signal, () => turns.running && questions.choices === null && refresh());
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

/** Keeps durations on the bottom line moving. */
async function tick(signal: AbortSignal, onTick: () => void): Promise<void> {
  while (!signal.aborted) {
    await delay(TICK_MS, undefined, { signal }).catch(() => {});
    if (!signal.aborted) onTick();
  }
}

/** More turns than any conversation has; a number beyond it is no turn's. */
const MOST_TURNS = 1_000_000;

/** The record, or one of no known type in place of a malformed one: logs and servers may be anybody's. */
function readable(record: SessionRecord): SessionRecord {
  const { issues } = SessionRecordSchema["~standard"].validate(record) as { issues?: unknown };
  if (issues === undefined && (record.turn ?? 0) < MOST_TURNS) return record;
  const { seq, id, ts } = record;
  return { seq, id, ts, turn: null, type: "unreadable", metadata: {} } as unknown as SessionRecord;
}
