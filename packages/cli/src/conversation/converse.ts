/** One conversation: shows a session's log on the screen, and sends what the person types to the session. */
import { setTimeout as delay } from "node:timers/promises";
import type { TurnView } from "@chimera/acp-schema/conversation";
import { endsTurn, type RecordOf, type SessionRecord } from "@chimera/acp-schema/events";
import type { PaletteRow, SessionClient } from "../client/client.js";
import { EXIT_INTERRUPTED } from "../errors.js";
import { wrap } from "../terminal/markdown.js";
import type { Style } from "../terminal/style.js";
import { count, plainLine } from "../terminal/text.js";
import { readMentions } from "./attachments.js";
import type { Suggestions } from "./editor.js";
import { createEntries } from "./entries.js";
import { type LocalActions, listCommands, runLocalCommand, withLocalCommands } from "./local-commands.js";
import { createQuestions } from "./questions.js";
import { readable } from "./readable.js";
import type { Choice, Screen, ScreenEvents } from "./screen.js";
import { createPast, createTurns, type Past } from "./turns.js";
import { createView, promptLines } from "./view.js";

/** A second Ctrl-C within this time leaves the program. */
const AGAIN_MS = 2000;
const TICK_MS = 100;
/** A turn that took longer ends with a bell, because the person may have looked away. */
const LONG_MS = 3000;

export interface ConversationOptions {
  readonly client: SessionClient;
  readonly style: Style;
  readonly openScreen: (events: ScreenEvents) => Screen;
  /** Opens another session; null opens a new one. */
  readonly openOther: (id: string | null) => Promise<SessionClient>;
  /** Whether a person is here to answer. */
  readonly approves: boolean;
  readonly greeting: readonly string[];
  /** What a person who leaves reads about coming back. Null when nothing is left to come back to, or nobody reads it. */
  readonly farewell: string | null;
  /** The present size of the screen; undefined when lines are neither wrapped nor folded. */
  readonly size: () => { readonly columns: number; readonly rows: number } | undefined;
  /** Finds file names that contain the typed text. */
  readonly findFiles: (part: string, onMore: () => void) => readonly string[];
  /** Sent as the first prompt. */
  readonly first?: string | undefined;
  /** Sends the program's log lines to `show`; null sends them where they went before. */
  readonly divertLog?: (show: ((line: string) => void) | null) => void;
  /** How many files of a workspace have been read for the first time so far; null when that is not going on. */
  readonly indexed?: () => number | null;
  readonly clock: () => number;
  readonly signal: AbortSignal;
}

/** How the conversation ended: with an exit code, or with another session to open. */
type Ending = { readonly exit: number } | { readonly next: SessionClient };

export async function converse(options: ConversationOptions): Promise<Ending> {
  const { client, style, clock, size } = options;
  const width = () => size()?.columns;
  const done = new AbortController();
  const signal = AbortSignal.any([options.signal, done.signal]);
  const turns = createTurns();
  let commands = withLocalCommands([]);
  let settings: Awaited<ReturnType<SessionClient["settings"]>> | null = null;
  let ending: Ending = { exit: 0 };
  let interruptedAt = Number.NEGATIVE_INFINITY;
  let turnSince = clock();
  /** Unanswered questions of the agent. The next typed line answers the first of them. */
  const asked = new Map<string, RecordOf<"question_asked">>();
  let past: Past | null = client.head > 0 ? createPast(turns.conversation) : null;

  const screen = options.openScreen({
    live: () => {
      const choices = past ? null : questions.choices;
      const isBusy = past !== null || entries.isBusy;
      const jobs = past ? [] : view.jobLines(turns.conversation.openJobs.values());
      const isAsked = past === null && asked.size > 0 && options.approves;
      return {
        lines: choices === null ? [...view.lines(), ...jobs] : [],
        status: isBusy && choices === null && !isAsked ? label() : null,
        queued: entries.queued,
        choices,
      };
    },
    onEntry: (text) => submit(text),
    onAnswer: (text) => void questions.reply(text).catch(complain).finally(screenChanged),
    onInterrupt: interrupt,
    onEscape: cancel,
    onUnfold: () => view.unfold(),
    onTakeBack: () => entries.takeBack(),
    onEnd: () => leave({ exit: 0 }),
    suggest: (text, cursor, onMore) => suggest(text, cursor, commands, (part) => options.findFiles(part, onMore)),
  });
  const view = createView({ style, clock, width, print: screen.print, settings: () => settings });
  const questions = createQuestions({
    style,
    screen,
    size,
    clock,
    live: () => past === null,
    answer: client.answer,
  });
  const entries = createEntries({
    turns,
    prompt: client.prompt,
    show: (text) => screen.echoes && screen.print(`${promptLines(text.trimEnd(), style, width())}\n`),
    read: readEntry,
    isHeld: () => past !== null || questions.choices !== null,
    complain,
    changed: screenChanged,
  });
  const known = client.commands().then(
    (rows) => {
      commands = withLocalCommands(rows);
    },
    () => {},
  );

  /** The status line. The first command in a workspace waits until all its files have been read. */
  function label(): string {
    const files = options.indexed?.() ?? null;
    const doing = view.label(clock()) || "waiting";
    return files === null ? doing : `reading the workspace once, for undo: ${count(files, "file")} · ${doing}`;
  }

  function screenChanged(): void {
    // After the person has left, input that is still waiting belongs to the next conversation.
    if (!done.signal.aborted) screen.changed();
  }

  function leave(how: Ending): void {
    for (const text of entries.takeAll()) screen.print(`${style.yellow("not sent:")} ${plainLine(text)}\n`);
    ending = how;
    done.abort();
  }

  function complain(error: Error): void {
    screen.print(`${style.red(wrap(plainLine(error.message), width()))}\n`);
    screenChanged();
  }

  /** Cancels the running turn, and puts queued prompts back into the input. */
  function cancel(): void {
    if (!turns.running) return;
    client.cancel().catch(complain);
    const waiting = entries.takeAll();
    if (waiting.length > 0) screen.putBack(waiting.join("\n"));
  }

  function interrupt(): void {
    const again = clock() - interruptedAt < AGAIN_MS;
    interruptedAt = clock();
    if (again) {
      leave({ exit: EXIT_INTERRUPTED });
      return;
    }
    const running = turns.running;
    cancel();
    screen.print(`${style.dim(`${running ? "cancelling; " : ""}Ctrl-C again to leave`)}\n`);
  }

  function submit(text: string): void {
    if (text.trim() === "") return;
    const [question] = options.approves ? asked.values() : [];
    if (question) {
      const { question_id, options: named } = question.metadata;
      const chosen = /^\d+$/.test(text.trim()) ? named[Number(text.trim()) - 1]?.name : undefined;
      asked.delete(question_id);
      client.answerQuestion(question_id, chosen ?? text.trim()).catch(complain);
    } else entries.add(text);
    screenChanged();
  }

  async function readEntry(text: string) {
    await known;
    const left = await runLocalCommand(text.trimEnd(), actions, commands, client.server === null);
    const entry = left?.trim() ?? "";
    return entry === "" || done.signal.aborted ? null : readMentions(entry, client.cwd, complain);
  }

  const actions: LocalActions = {
    leave: () => leave({ exit: 0 }),
    help: () => screen.print(`${listCommands(commands, width())}\n`),
    open: async (id) => {
      const next = await options.openOther(id);
      if (id === null) await client.forgetFiles();
      leave({ next });
    },
    undoable: () => undoChoices(turns.undoable()),
    screen,
    choices: client.choices,
    present: (name) => settings?.[name],
    picks: options.approves,
  };

  function onRecord(raw: SessionRecord): void {
    const record = readable(raw);
    turns.apply(record);
    if (record.type === "turn_start") turnSince = clock();
    if (past) past.add(record);
    else if (!entries.isEcho(record)) view.apply(record);
    if (options.approves) questions.apply(record);
    if (record.type === "question_asked") asked.set(record.metadata.question_id, record);
    if (record.type === "question_asked" && !past) screen.bell();
    if (record.type === "question_answered") asked.delete(record.metadata.question_id);
    if (SETTING.has(record.type)) refreshSettings();
    if (past && record.seq >= client.head) {
      const before = past;
      past = null;
      showPast(before);
    }
    if (endsTurn(record.type)) for (const [id, { turn }] of asked) if (turn === record.turn) asked.delete(id);
    if (endsTurn(record.type) && !past) {
      // The turn has ended, so the next Ctrl-C counts as the first one.
      interruptedAt = Number.NEGATIVE_INFINITY;
      if (clock() - turnSince > LONG_MS) screen.bell();
      entries.sendNext();
    }
    if (!past) screenChanged();
  }

  function showPast(before: Past): void {
    const { records, earlier } = before.end();
    if (earlier > 0) screen.print(`${style.dim(`… ${earlier} earlier turns`)}\n\n`);
    for (const record of records) view.apply(record);
    questions.announce();
  }

  function refreshSettings(): void {
    client.settings().then(
      (now) => (settings = now),
      () => {},
    );
  }

  options.divertLog?.((line) => screen.print(`${style.dim(wrap(plainLine(line), width()))}\n`));
  for (const line of options.greeting) screen.print(`${style.dim(wrap(line, width()))}\n`);
  screen.print("\n");
  refreshSettings();
  const ticking = tick(signal, () => (turns.busy || questions.choices !== null) && screen.changed());
  if (options.first !== undefined) submit(options.first);
  screenChanged();
  try {
    await client.follow({ from: 0, signal, onRecord, onNotice: (text) => screen.print(`${style.dim(text)}\n`) });
    const isLeft = done.signal.aborted && "exit" in ending && turns.conversation.turns.length > 0;
    if (isLeft && options.farewell !== null) screen.print(`${style.dim(options.farewell)}\n`);
  } finally {
    done.abort();
    await ticking;
    options.divertLog?.(null);
    screen.close();
  }
  return ending;
}

// --- internal ---

/** Types of records that change a setting. */
const SETTING: ReadonlySet<string> = new Set(["model_changed", "mode_changed", "config_changed", "settings_reset"]);

/** Suggests commands at the beginning of an entry, and files after an `@`. */
function suggest(
  text: string,
  cursor: number,
  commands: readonly PaletteRow[],
  findFiles: (part: string) => readonly string[],
): Suggestions | null {
  const typed = text.slice(0, cursor);
  if (/^\/\S*$/.test(typed)) {
    const items = commands.filter(({ name }) => `/${name}`.startsWith(typed));
    return { from: 0, items: items.map(({ name, description }) => ({ text: `/${name}`, description })) };
  }
  const [, part] = /(?:^|\s)@([^\s@]*)$/.exec(typed) ?? [];
  if (part === undefined) return null;
  const items = findFiles(part).map((path) => ({ text: `@${path} `, description: "" }));
  return { from: cursor - part.length - 1, items };
}

/** The turns that can be undone, the last one first: the value is how many turns go with it. */
function undoChoices(turns: readonly TurnView[]): Choice[] {
  return turns.map(({ prompt }, at) => ({
    value: String(at + 1),
    label: plainLine(prompt.text).slice(0, 60),
    description: at === 0 ? "the last turn" : `${at + 1} turns`,
  }));
}

/** Updates the durations in the status line. */
async function tick(signal: AbortSignal, onTick: () => void): Promise<void> {
  while (!signal.aborted) {
    await delay(TICK_MS, undefined, { signal }).catch(() => {});
    if (!signal.aborted) onTick();
  }
}
