/** The screen port: permanent lines with a live area below them, and the person's input. Also its implementation for plain lines. */
import { createInterface } from "node:readline";
import type { Suggestions } from "./editor.js";

/** The present content of the live area. */
export interface Live {
  /** The end of the answer that is still arriving. */
  readonly lines: readonly string[];
  /** The status; null when a prompt would run at once. */
  readonly status: string | null;
  /** Prompts that are not sent yet. */
  readonly queued: readonly string[];
  /** The possible answers to a permission request; empty until it can be answered; null without one. */
  readonly choices: string | null;
}

/** One entry of a choice. */
export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly description: string;
}

export interface Screen {
  /** Whether the conversation must print the person's entries. */
  readonly echoes: boolean;
  /** Prints whole lines; the text must end with a newline. */
  print(text: string): void;
  /** Called when the result of `live` has changed. */
  changed(): void;
  /** Lets the person choose; begins at the `present` value. Resolves to the chosen value, or null. */
  pick(title: string, choices: readonly Choice[], present?: string): Promise<string | null>;
  /** Asks for a line of text. Resolves to null when the person cancels. */
  ask(label: string): Promise<string | null>;
  /** Puts text back into the input. */
  putBack(text: string): void;
  bell(): void;
  /** Restores the terminal. */
  close(): void;
}

export interface ScreenEvents {
  live(): Live;
  /** Called with an entry: a line, or several lines that were typed or pasted together. */
  onEntry(text: string): void;
  /** Called with the answer to a permission request: a key, or a line if the screen has no single keys. */
  onAnswer(text: string): void;
  /** Ctrl-C with an empty input. */
  onInterrupt(): void;
  onEscape(): void;
  /** Shows all of the text that was folded last. */
  onUnfold(): void;
  /** Removes and returns the last queued prompt. */
  onTakeBack(): string | null;
  /** The input has ended: Ctrl-D, a closed pipe, or a lost terminal. */
  onEnd(): void;
  /** Suggests completions of the word before the cursor. Calls `onMore` when more are known. */
  suggest(text: string, cursor: number, onMore: () => void): Suggestions | null;
}

/** The lines of an input. Several screens can take from it, one after the other. */
export interface LineSource {
  readonly ended: boolean;
  take(): string | undefined;
  /** Drops the waiting lines. */
  drop(): void;
  /** Called when a line has arrived, and when the input has ended. */
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
 * A screen of plain lines, for pipes and for screen readers. Takes the next line when the one before it has been answered.
 *
 * @param isPerson whether a person types the lines. Then a line that came before a question does not answer it.
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
      // Lines that were typed or pasted before the question appeared must not answer it.
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
