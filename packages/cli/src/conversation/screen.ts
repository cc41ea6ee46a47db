/** Where a conversation is shown and typed: lines that stay, and what is going on below them. The one for lines in and out is here too. */
import { createInterface } from "node:readline";
import type { Suggestions } from "./editor.js";

/** What is shown below the lines that stay, as it is at the moment. */
export interface Live {
  /** The end of the answer, still arriving. */
  readonly lines: readonly string[];
  /** What is going on; null when a prompt would be taken at once. */
  readonly status: string | null;
  /** Typed while something ran, and not sent yet. */
  readonly queued: readonly string[];
  /** The answers that the question above takes: empty until it can be answered, null when nothing is asked. */
  readonly choices: string | null;
}

/** One of several things to choose from. */
export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly description: string;
}

export interface Screen {
  /** Whether what is typed has to be shown again where it stands in the conversation. */
  readonly echoes: boolean;
  /** Whole lines; the text ends with a newline. */
  print(text: string): void;
  /** What `live` gives has changed. */
  changed(): void;
  /** The value of the one that was chosen, or null. */
  pick(title: string, choices: readonly Choice[]): Promise<string | null>;
  /** A line of text in answer to a label, or null. */
  ask(label: string): Promise<string | null>;
  /** Puts text back to where it is typed. */
  putBack(text: string): void;
  bell(): void;
  /** Gives the terminal back as it was. */
  close(): void;
}

export interface ScreenEvents {
  live(): Live;
  /** One entry: a line, or several that were typed or pasted together. */
  onEntry(text: string): void;
  /** A key, or where keys do not come by themselves a line, while something is asked. */
  onAnswer(text: string): void;
  /** Ctrl-C with nothing typed. */
  onInterrupt(): void;
  onEscape(): void;
  /** Shows all of what was folded last. */
  onUnfold(): void;
  /** Takes back the last text that is queued. */
  onTakeBack(): string | null;
  /** No more input: Ctrl-D, a closed pipe, a terminal that went away. */
  onEnd(): void;
  /** What the word before the cursor may become; `onMore` is called when more is known. */
  suggest(text: string, cursor: number, onMore: () => void): Suggestions | null;
}

/** The lines of an input, read once, however many screens take from it. */
export interface LineSource {
  readonly ended: boolean;
  take(): string | undefined;
  /** Forgets lines that nobody has taken. */
  drop(): void;
  /** Called when there is a line more, or no more. */
  onChange: () => void;
}

export function createLineSource(input: NodeJS.ReadStream): LineSource {
  const waiting: string[] = [];
  let ended = false;
  const source: LineSource = {
    get ended() {
      return ended && waiting.length === 0;
    },
    take: () => waiting.shift(),
    drop: () => void waiting.splice(0),
    onChange: () => {},
  };
  const reader = createInterface({ input, terminal: false });
  reader.on("line", (line) => {
    waiting.push(line);
    source.onChange();
  });
  reader.on("close", () => {
    ended = true;
    source.onChange();
  });
  return source;
}

/**
 * Lines in, lines out: for pipes, and for people who have a screen read to them. The next line is taken when the one before it is
 * answered.
 *
 * @param isPerson somebody types the lines: what came before a question does not answer it.
 */
export function createLineScreen(
  source: LineSource,
  output: NodeJS.WriteStream,
  events: ScreenEvents,
  isPerson: boolean,
): Screen {
  let closed = false;
  let asked: string | null = null;
  let said: string | null = null;
  let waiting: ((line: string | null) => void) | null = null;

  const pump = () => {
    if (closed) return;
    const { choices, status } = events.live();
    if (isPerson && status !== said) {
      if (status !== null && said === null) output.write("working\n");
      said = status;
    }
    if (choices !== asked) {
      // What was typed or pasted before the question was there is no answer to it.
      if (choices && isPerson) source.drop();
      if (choices) output.write(`  ${choices}\n`);
      asked = choices;
    }
    if (waiting === null && (choices === "" || (choices === null && status !== null))) return;
    const line = source.take();
    if (line === undefined) {
      if (source.ended) waiting ? settle(null) : events.onEnd();
      return;
    }
    if (waiting) settle(line);
    else if (choices !== null) events.onAnswer(line);
    else events.onEntry(line);
    setImmediate(pump);
  };
  const settle = (line: string | null) => {
    const resolve = waiting;
    waiting = null;
    resolve?.(line);
  };
  const ask = (label: string) => {
    output.write(`${label}\n`);
    setImmediate(pump);
    return new Promise<string | null>((resolve) => (waiting = resolve));
  };
  source.onChange = () => setImmediate(pump);

  return {
    echoes: false,
    print: (text) => void output.write(text),
    changed: () => void setImmediate(pump),
    ask,
    async pick(title, choices) {
      const lines = choices.map(({ label, description }, at) => `${at + 1}. ${label}  ${description}`.trimEnd());
      const line = (await ask([...lines, `${title}: type a number or a name, or nothing`].join("\n")))?.trim() ?? "";
      const found = choices[Number(line) - 1] ?? choices.find(({ value, label }) => value === line || label === line);
      return found?.value ?? null;
    },
    putBack: () => {},
    bell: () => void (isPerson && output.write("\u0007")),
    close() {
      closed = true;
      settle(null);
    },
  };
}
