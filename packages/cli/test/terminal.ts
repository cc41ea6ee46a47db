/** A real terminal: tmux types, and the screen is compared. */
import { execFile } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished } from "vitest";
import type { Person } from "./person.js";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("program.mjs", import.meta.url));
let terminals = 0;

export interface Terminal {
  /** Types keys by their tmux names, and text. */
  press(...keys: string[]): Promise<void>;
  type(text: string): Promise<void>;
  screen(): Promise<string>;
  /** The screen and its scrollback. */
  history(): Promise<string>;
  /** The screen, with its colours. */
  painted(): Promise<string>;
  /** Waits until the screen shows a text. The error has the screen. */
  until(pattern: RegExp): Promise<string>;
  /** Types repeatedly, with pauses, until the screen shows the effect. */
  typeUntil(text: string, pattern: RegExp): Promise<void>;
  /** Pastes like a terminal, with marks if the program asked for them. */
  paste(text: string): Promise<void>;
  resize(columns: number): Promise<void>;
  /** Reads a tmux format for the pane, such as `#{pane_pid}`. */
  ask(format: string): Promise<string>;
  /** Closes the terminal, like a person who closes a window. */
  kill(): Promise<void>;
}

export const onTerminal = { timeout: 60_000, tags: ["needs-tmux"] };

interface Look {
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Record<string, string>;
  /** A file that records all output to the terminal, even output that is visible only for a moment. */
  readonly record?: string;
}

export async function open(
  person: Person,
  args: readonly string[],
  { columns = 80, rows = 50, env = {}, record }: Look = {},
): Promise<Terminal> {
  const name = `t${terminals++}`;
  // Each terminal has its own tmux server, because a server without sessions exits and may do so just as the next test starts one.
  const socket = `cli-test-${process.pid}-${name}`;
  // Name the shell, because the account may have none.
  const shell = { env: { ...process.env, SHELL: "/bin/sh" } };
  const tmux = async (...words: string[]) => (await run("tmux", ["-L", socket, ...words], shell)).stdout;
  const settings = Object.entries({ ...person.env, ...env }).map(([key, value]) => `${key}=${quote(value ?? "")}`);
  const command = `cd ${quote(person.cwd)}; env -i TERM=screen-256color LANG=C.UTF-8 ${settings.join(" ")} ${quote(process.execPath)} ${quote(PROGRAM)} ${args.map(quote).join(" ")}; echo EXIT $?; sleep 600`;
  await tmux(
    "-f",
    "/dev/null",
    "set-option",
    "-g",
    "history-limit",
    "30000",
    ";",
    "new-session",
    "-d",
    "-x",
    String(columns),
    "-y",
    String(rows),
    "-s",
    name,
    command,
    ...(record === undefined ? [] : [";", "pipe-pane", "-t", name, `cat > ${quote(record)}`]),
  );
  onTestFinished(async () => {
    const shell = await terminal.ask("#{pane_pid}").catch(() => "");
    const programs = shell === "" ? [] : await childrenOf(Number(shell));
    await tmux("kill-server").catch(() => {});
    // Wait for the program to write its last records before the directories are removed.
    await expect.poll(() => programs.filter(isAlive), { timeout: 10_000 }).toEqual([]);
  });
  const terminal: Terminal = {
    press: async (...keys) => void (await tmux("send-keys", "-t", name, ...keys)),
    type: async (text) => void (await tmux("send-keys", "-t", name, "-l", text)),
    async paste(text) {
      const loading = run("tmux", ["-L", socket, "load-buffer", "-"], shell);
      loading.child.stdin?.end(text);
      await loading;
      await tmux("paste-buffer", "-p", "-t", name);
    },
    resize: async (size) => void (await tmux("resize-window", "-t", name, "-x", String(size))),
    ask: async (format) => (await tmux("display-message", "-p", "-t", name, format)).trim(),
    kill: async () => void (await tmux("kill-session", "-t", name)),
    screen: () => tmux("capture-pane", "-p", "-t", name),
    history: () => tmux("capture-pane", "-p", "-S", "-", "-t", name),
    painted: () => tmux("capture-pane", "-p", "-e", "-t", name),
    async typeUntil(text, pattern) {
      const end = Date.now() + 20_000;
      while (!pattern.test(await terminal.screen())) {
        if (Date.now() > end) throw new Error(`no ${pattern} on the screen:\n${await terminal.screen()}`);
        await terminal.type(text);
        for (let n = 0; n < 20 && !pattern.test(await terminal.screen()); n++) await pause(50);
      }
    },
    async until(pattern) {
      const end = Date.now() + 20_000;
      for (;;) {
        const screen = await terminal.screen();
        if (pattern.test(screen)) return screen;
        if (Date.now() > end) throw new Error(`no ${pattern} on the screen:\n${screen}`);
        await pause(50);
      }
    },
  };
  return terminal;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

async function childrenOf(parent: number): Promise<number[]> {
  const { stdout } = await run("ps", ["-A", "-o", "pid=,ppid="]);
  const rows = stdout
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number));
  return rows.flatMap(([pid, ppid]) => (ppid === parent && pid !== undefined ? [pid] : []));
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
