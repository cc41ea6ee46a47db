/** Where a conversation is shown and typed: lines that stay, and one line at the bottom that does not. The one for pipes is here too. */
import { createInterface } from "node:readline";

export type ScreenState =
  /** The person may type a prompt. */
  | { readonly kind: "ready" }
  /** Something runs; what is typed meanwhile is kept, or sent when it is a whole line. */
  | { readonly kind: "busy"; readonly label: string }
  /** A question stands above; what is typed answers it. */
  | { readonly kind: "asking"; readonly choices: string };

export interface Screen {
  /** Whole lines; the text ends with a newline. */
  print(text: string): void;
  show(state: ScreenState): void;
  /** Gives the terminal back as it was. */
  close(): void;
}

export interface ScreenEvents {
  /** One entry: a line, or several that were pasted together. */
  onEntry(text: string): void;
  /** Ctrl-C with nothing typed. */
  onInterrupt(): void;
  /** No more input: Ctrl-D, a closed pipe, a terminal that went away. */
  onEnd(): void;
}

/** The lines of an input, read once, however many screens take from it. */
interface LineSource {
  readonly ended: boolean;
  take(): string | undefined;
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

/** A screen that is no terminal: lines in, lines out. The next line is taken when the one before it is answered. */
export function createLineScreen(source: LineSource, output: NodeJS.WriteStream, events: ScreenEvents): Screen {
  let state: ScreenState = { kind: "busy", label: "" };
  let closed = false;

  const pump = () => {
    if (closed || state.kind === "busy") return;
    const line = source.take();
    if (line !== undefined) {
      state = { kind: "busy", label: "" };
      events.onEntry(line);
    } else if (source.ended) events.onEnd();
  };
  source.onChange = () => setImmediate(pump);

  return {
    print: (text) => void output.write(text),
    show(next) {
      state = next;
      if (next.kind === "asking") output.write(`  ${next.choices}\n`);
      setImmediate(pump);
    },
    close() {
      closed = true;
    },
  };
}
