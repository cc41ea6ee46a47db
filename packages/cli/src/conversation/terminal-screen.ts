/** A terminal as a screen: the input stays visible below the live area, and a single key answers a question. */
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";
import { createKeys, type Key } from "../terminal/keys.js";
import { createLiveArea, type Frame } from "../terminal/live-area.js";
import type { Style } from "../terminal/style.js";
import { cut, plainLine } from "../terminal/text.js";
import { createDialog } from "./dialog.js";
import { createEditor } from "./editor.js";
import type { Choice, Screen, ScreenEvents } from "./screen.js";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;
/** Most rows of suggestions or choices, and of the input. */
const MENU_ROWS = 8;
const INPUT_ROWS = 10;
/** Ask the terminal to mark pastes, and to report Shift+Enter as its own key. The Linux console would take the second for a colour. */
const ENTER = "\u001b[?2004h";
const LEAVE = "\u001b[?2004l";
const MORE_KEYS = { on: "\u001b[>4;1m", off: "\u001b[>4m" };

export interface TerminalScreenOptions extends ScreenEvents {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  readonly style: Style;
  /** Whether the terminal is the Linux console. */
  readonly isConsole: boolean;
  /** Newest first. */
  readonly history: readonly string[];
  readonly onHistory: (history: readonly string[]) => void;
}

export function createTerminalScreen(options: TerminalScreenOptions): Screen {
  const { input, output, style } = options;
  const prompt = createEditor({
    history: options.history,
    suggest: (text, cursor) => options.suggest(text, cursor, suggestAgain),
  });
  const dialog = createDialog();
  let spin = 0;
  let closed = false;

  const area = createLiveArea(output, compose);
  const keys = createKeys(press);
  const onData = (bytes: Buffer) => keys.write(bytes);
  const onGone = () => !closed && options.onEnd();
  const spinner = setInterval(() => {
    spin++;
    if (options.live().status !== null) area.changed();
  }, FRAME_MS);
  spinner.unref();

  const enter = () => {
    input.setRawMode(true);
    output.write(ENTER + (options.isConsole ? "" : MORE_KEYS.on));
    input.resume();
    area.now();
  };
  const leave = () => {
    output.write(LEAVE + (options.isConsole ? "" : MORE_KEYS.off));
    try {
      input.setRawMode(false);
    } catch {
      // The terminal was closed.
    }
    input.pause();
  };
  input.on("data", onData).on("end", onGone).on("close", onGone).on("error", onGone);
  process.on("SIGCONT", enter);
  enter();

  function suggestAgain(): void {
    if (closed) return;
    prompt.suggest();
    area.now();
  }

  function press(key: Key): void {
    if (closed) return;
    const name = key.kind === "named" ? key.name : null;
    if (name === "ctrl-l") area.clear();
    else if (name === "ctrl-z" && process.platform !== "win32") suspend();
    else if (dialog.shown) dialog.press(key);
    else if (options.live().choices !== null) pressAtQuestion(key);
    else pressAtPrompt(key);
    area.now();
  }

  function pressAtQuestion(key: Key): void {
    if (key.kind === "named") {
      if (key.name === "ctrl-c") options.onInterrupt();
      else if (key.name === "escape") options.onEscape();
      else if (key.name === "ctrl-o") options.onUnfold();
      return;
    }
    // Only a single key answers. Several characters at once were pasted.
    options.onAnswer(key.kind === "text" && key.alone ? key.text : "");
  }

  function pressAtPrompt(key: Key): void {
    if (key.kind === "named" && Object.hasOwn(AT_PROMPT, key.name)) {
      if (AT_PROMPT[key.name]?.()) return;
    }
    prompt.press(key);
  }

  /** Each returns whether it has handled the key. */
  const AT_PROMPT: Readonly<Record<string, () => boolean>> = {
    enter() {
      const entry = prompt.enter();
      if (entry === null) return true;
      prompt.remember(entry);
      options.onHistory(prompt.history);
      options.onEntry(entry);
      return true;
    },
    up() {
      const queued = prompt.text === "" ? options.onTakeBack() : null;
      if (queued !== null) prompt.set(queued);
      return queued !== null;
    },
    escape() {
      if (!prompt.closeMenu()) options.onEscape();
      return true;
    },
    "ctrl-c"() {
      if (prompt.text === "" || options.live().status !== null) options.onInterrupt();
      else prompt.set("");
      return true;
    },
    "ctrl-d"() {
      if (prompt.text !== "") return false;
      options.onEnd();
      return true;
    },
    "ctrl-o"() {
      options.onUnfold();
      return true;
    },
  };

  function openDialog(label: string, choices: readonly Choice[] | null, present?: string): Promise<string | null> {
    const answer = dialog.open(label, choices, present);
    area.now();
    return answer;
  }

  function suspend(): void {
    leave();
    process.kill(process.pid, "SIGTSTP");
  }

  function compose(columns: number, rows: number): Frame {
    const { lines, queued, choices, ...live } = options.live();
    const open = dialog.shown;
    // Under a dialog the session waits for the person, who sees that.
    const status = open ? null : live.status;
    const editor = open?.editor ?? prompt;
    const shown = lines.slice(-Math.max(1, rows - INPUT_ROWS));
    const head = shown.length > 0 && status !== null ? [...shown, ""] : [...shown];
    if (status !== null) {
      const hint = choices === null && prompt.text !== "" ? " · Enter queues it, Esc cancels the turn" : "";
      const label = cut(status, Math.max(8, columns - hint.length - 3), stringWidth);
      head.push(style.dim(`${FRAMES[spin % FRAMES.length]} ${label}${hint}`));
    }
    for (const text of queued) head.push(style.dim(`  queued: ${plainLine(text)}  (Up takes it back)`));
    if (!open && choices !== null) {
      return { lines: [...head, `  ${choices}`], cursor: choices === "" ? null : { row: head.length, column: 2 } };
    }
    const lead = open ? `${open.label} ` : style.bold("> ");
    const box = inputBox(editor.text, editor.cursor, lead, columns);
    const offered = open?.choices ?? (editor.menu?.items ?? []).map(asChoice);
    const menu = menuLines(offered, open?.at ?? editor.menu?.at ?? 0, columns, style);
    if (open?.choices?.length === 0) menu.push(style.dim("  (no match)"));
    return {
      lines: [...head, ...box.lines, ...menu],
      cursor: { row: head.length + box.row, column: box.column },
    };
  }

  return {
    echoes: true,
    print: (text) => area.print(text),
    changed: () => area.changed(),
    pick: openDialog,
    ask: (label) => openDialog(label, null),
    putBack(text) {
      prompt.set(prompt.text === "" ? text : `${text}\n${prompt.text}`);
      area.now();
    },
    bell: () => void output.write("\u0007"),
    close() {
      if (closed) return;
      dialog.close();
      area.close();
      closed = true;
      clearInterval(spinner);
      keys.close();
      process.off("SIGCONT", enter);
      input.off("data", onData).off("end", onGone).off("close", onGone).off("error", onGone);
      leave();
    },
  };
}

// --- internal ---

function asChoice({ text, description }: { readonly text: string; readonly description: string }): Choice {
  return { value: text, label: text.trimEnd(), description };
}

/** The rows around the selected one. */
function menuLines(choices: readonly Choice[], at: number, columns: number, style: Style): string[] {
  const from = Math.max(0, Math.min(at - MENU_ROWS + 1, choices.length - MENU_ROWS));
  const rows = choices.slice(from, from + MENU_ROWS);
  const width = Math.min(Math.floor(columns / 2), Math.max(0, ...rows.map(({ label }) => stringWidth(label))));
  const lines = rows.map(({ label, description }, row) => {
    const space = " ".repeat(Math.max(0, width - stringWidth(label)));
    const line = `${label}${space}  ${style.dim(plainLine(description))}`.trimEnd();
    return from + row === at ? `${style.cyan("›")} ${style.bold(line)}` : `  ${line}`;
  });
  const more = choices.length - rows.length;
  return more > 0 ? [...lines, style.dim(`  … ${more} more`)] : lines;
}

/** Wraps the input at the edge of the screen and finds the cursor in it. Of a long text the part around the cursor is shown. */
function inputBox(text: string, cursor: number, label: string, columns: number) {
  const indent = stringWidth(label);
  const room = Math.max(4, columns - indent - 1);
  const wrapped = (part: string) =>
    part.split("\n").flatMap((line) => wrapAnsi(line, room, { hard: true, wordWrap: false, trim: false }).split("\n"));
  const all = wrapped(text);
  const upTo = wrapped(text.slice(0, cursor));
  const row = upTo.length - 1;
  const from = Math.max(0, Math.min(row - INPUT_ROWS + 1, all.length - INPUT_ROWS));
  const lines = all.slice(from, from + INPUT_ROWS).map((line, at) => {
    const isFirst = at === 0;
    const lead = isFirst && from === 0 ? label : isFirst ? "… ".padStart(indent) : " ".repeat(indent);
    return `${lead}${line}`.trimEnd();
  });
  return { lines, row: row - from, column: indent + stringWidth(upTo[row] ?? "") };
}
