/** A screen that is no terminal: lines in, lines out. The next line is taken when the one before it is answered. */
import { createInterface } from "node:readline";
import type { Screen, ScreenEvents, ScreenState } from "./screen.js";

/** The lines of an input, read once, however many screens take from it. */
export interface LineSource {
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
