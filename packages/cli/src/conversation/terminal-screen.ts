/** A terminal screen. While something runs, readline's echo is held back and the bottom line shows a spinner. */
import { clearScreenDown, createInterface, cursorTo, moveCursor } from "node:readline";
import { Writable } from "node:stream";
import stringWidth from "string-width";
import type { Style } from "../terminal/style.js";
import { cut } from "../terminal/text.js";
import type { Screen, ScreenEvents, ScreenState } from "./screen.js";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;

export interface TerminalScreenOptions extends ScreenEvents {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  readonly style: Style;
  /** Newest first, as readline keeps it. */
  readonly history: readonly string[];
  readonly onHistory: (history: readonly string[]) => void;
  /** What a word at the start of a line may become. */
  readonly complete: (line: string) => string[];
}

export function createTerminalScreen(options: TerminalScreenOptions): Screen {
  const { input, output, style } = options;
  const gate = createGate(output);
  let state: ScreenState = { kind: "busy", label: "" };
  let frame = 0;
  let closed = false;
  const typed: string[] = [];

  const editor = createInterface({
    input,
    output: gate.stream,
    terminal: true,
    history: [...options.history],
    historySize: 500,
    removeHistoryDuplicates: true,
    completer: (line: string): [string[], string] => [options.complete(line), line],
  });

  const drawBottom = () => {
    if (state.kind === "busy") {
      const line = `${FRAMES[frame % FRAMES.length]} ${cut(state.label, Math.max(1, (output.columns ?? 80) - 3), stringWidth)}`;
      output.write(`\r\u001b[K${style.dim(line)}`);
      return;
    }
    gate.open = true;
    // readline would go up by the rows it last drew; they are gone.
    (editor as { prevRows?: number }).prevRows = 0;
    editor.setPrompt(state.kind === "ready" ? style.bold("> ") : `  ${state.choices} `);
    editor.prompt(true);
  };

  const clearBottom = () => {
    if (gate.open) moveCursor(output, 0, -editor.getCursorPos().rows);
    cursorTo(output, 0);
    clearScreenDown(output);
    gate.open = false;
  };

  const spinner = setInterval(() => {
    frame++;
    if (state.kind === "busy" && state.label !== "") drawBottom();
  }, FRAME_MS);
  spinner.unref();

  editor.on("line", (line) => {
    typed.push(line);
    // Lines of one paste arrive in one tick, and are one prompt; an answer is always one line.
    if (state.kind === "asking") deliver();
    else if (typed.length === 1) setImmediate(deliver);
  });
  const deliver = () => {
    if (typed.length === 0) return;
    const text = typed.splice(0).join("\n");
    // readline has moved on to a fresh row; nothing of it is to be cleared there.
    gate.open = false;
    options.onEntry(text);
  };
  editor.on("history", (history) => {
    // An answer to a question is nothing to go back to.
    if (state.kind === "asking") history.shift();
    else options.onHistory(history);
  });
  editor.on("SIGINT", () => {
    if (state.kind === "ready" && editor.line !== "") eraseTyped();
    else options.onInterrupt();
  });
  editor.on("close", () => {
    if (!closed) options.onEnd();
  });

  function eraseTyped(): void {
    editor.write(null, { ctrl: true, name: "e" });
    editor.write(null, { ctrl: true, name: "u" });
  }

  return {
    print(text) {
      if (closed) return;
      clearBottom();
      output.write(text);
      drawBottom();
    },
    show(next) {
      if (closed) return;
      const same = next.kind === state.kind && next.kind !== "busy";
      if (same && gate.open) return;
      clearBottom();
      // What was typed before the question was asked is no answer to it.
      if (next.kind === "asking" && state.kind !== "asking") eraseTyped();
      state = next;
      drawBottom();
    },
    close() {
      if (closed) return;
      clearBottom();
      closed = true;
      clearInterval(spinner);
      editor.close();
    },
  };
}

// --- internal ---

interface Gate {
  open: boolean;
  readonly stream: Writable;
}

/** readline's output: passed on while the person may see what they type, dropped otherwise. */
function createGate(output: NodeJS.WriteStream): Gate {
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      if (gate.open) output.write(chunk);
      done();
    },
  });
  Object.defineProperties(stream, {
    columns: { get: () => output.columns },
    rows: { get: () => output.rows },
    isTTY: { value: true },
  });
  output.on("resize", () => stream.emit("resize"));
  const gate: Gate = { open: false, stream };
  return gate;
}
