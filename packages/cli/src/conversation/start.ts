/** Runs conversations one after the other, until somebody leaves: `/new` and `/resume` open the next. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import {
  type Config,
  type Invocation,
  openCore,
  type RunningCore,
  readClientToken,
  readConfig,
  replaceFile,
  requireHome,
  resolvePaths,
  UsageError,
} from "@chimera/host";
import { requireOperand } from "../actions.js";
import { MOST_OFFERED, type SessionClient, sessionChoice } from "../client/client.js";
import { createServer, createSession, idThere, newestOrNew, remoteClient } from "../client/remote.js";
import { CliError, EXIT_INTERRUPTED } from "../errors.js";
import { openSession, readRunFlags, type SessionChoice } from "../open-session.js";
import { styleFor } from "../output.js";
import type { Style } from "../terminal/style.js";
import { plainLine } from "../terminal/text.js";
import { createFileFinder } from "./attachments.js";
import { type ConversationOptions, converse } from "./converse.js";
import { type Choice, createLineScreen, createLineSource } from "./screen.js";
import { createTerminalScreen } from "./terminal-screen.js";

interface Opener {
  /** The session that was asked for when the program was started. */
  readonly first: SessionClient;
  /** Another one by its id, or with null a new one. */
  open(id: string | null): Promise<SessionClient>;
  /** Whether somebody is here to be asked. */
  readonly approves: boolean;
  /** Whether what is typed may be kept. */
  readonly remembers: boolean;
  /** What was typed after the name of the program: the first prompt. */
  readonly prompt?: string | undefined;
  readonly divertLog?: ConversationOptions["divertLog"];
  readonly indexed?: ConversationOptions["indexed"];
}

/** Whether there is a terminal that can be drawn on, and somebody to look at it. */
function hasTerminal({ process, flags }: Invocation): boolean {
  const { stdin, stdout, env } = process;
  return stdin.isTTY === true && stdout.isTTY === true && env["TERM"] !== "dumb" && flags["plain"] !== true;
}

async function startConversation(invocation: Invocation, opener: Opener): Promise<number> {
  const { process, profile } = invocation;
  const style = styleFor(invocation);
  const path = join(resolvePaths(process.env).root, "history", `${profile.name}.jsonl`);
  const history = openInputHistory(opener.remembers ? path : null);
  const gone = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => gone.abort());
  const openScreen = screenFor(invocation, style, history);
  let client = opener.first;
  let { prompt } = opener;
  try {
    for (;;) {
      const ending = await converse({
        client,
        style,
        approves: opener.approves,
        greeting: greetingOf(invocation, client),
        size: () => {
          const { columns, rows } = process.stdout;
          return hasTerminal(invocation) ? { columns: columns || 80, rows: rows || 24 } : undefined;
        },
        findFiles: createFileFinder(client.cwd ?? process.cwd()),
        first: prompt,
        clock: Date.now,
        signal: gone.signal,
        openOther: opener.open,
        openScreen,
        ...(opener.divertLog && { divertLog: opener.divertLog }),
        ...(opener.indexed && { indexed: opener.indexed }),
      });
      if (gone.signal.aborted) return EXIT_INTERRUPTED;
      if ("exit" in ending) return ending.exit;
      await client.close();
      client = ending.next;
      prompt = undefined;
    }
  } finally {
    await client.close();
  }
}

/** `otter` alone: a conversation with a session of this process. */
export async function converseHere(invocation: Invocation): Promise<number> {
  const flags = readRunFlags(invocation);
  let indexed: number | null = null;
  const onIndexing = (files: number | null) => {
    indexed = files;
  };
  const { core, config, log } = await openCore(invocation, { onIndexing });
  const approves = invocation.process.stdin.isTTY === true;
  const { cwd } = config;
  const persist = config.values.save;
  const open = (choice: SessionChoice) => openSession(invocation, core, choice, approves);
  try {
    requireHome(config);
    if (approves) await askToTrust(invocation, config, await core.untrusted(cwd));
    const resume = flags.resume === "" ? await pickSession(invocation, core) : flags.resume;
    if (resume === null) return 0;
    return await startConversation(invocation, {
      approves,
      remembers: persist,
      prompt: flags.prompt,
      divertLog: log.divert,
      indexed: () => indexed,
      first: await open({ ...flags, ...(resume !== undefined && { resume }), cwd, persist }),
      open: (id) => open({ cwd, last: false, persist, ...(id === null ? { typed: flags.typed } : { resume: id }) }),
    });
  } finally {
    await core.close();
  }
}

/** `attach`: the same conversation, with a session of a server that runs elsewhere. */
export async function attach(invocation: Invocation): Promise<number> {
  const { operands, process } = invocation;
  const url = parseServerUrl(requireOperand(invocation, "a server: attach http://127.0.0.1:5173"));
  const server = createServer(url, readClientToken(invocation, readConfig(invocation), url));
  const id = operands[1] ? await idThere(server, operands[1]) : await newestOrNew(server);
  return startConversation(invocation, {
    approves: process.stdin.isTTY === true,
    remembers: true,
    first: await remoteClient(server, id),
    open: async (other) => remoteClient(server, other ? await idThere(server, other) : await createSession(server)),
  });
}

/** One question with its choices, outside of a conversation. Null when none was chosen. */
export function pickOne(invocation: Invocation, title: string, choices: readonly Choice[]): Promise<string | null> {
  const openScreen = screenFor(invocation, styleFor(invocation), openInputHistory(null));
  return new Promise((resolve) => {
    const end = (value: string | null) => {
      screen.close();
      resolve(value);
    };
    const leave = () => end(null);
    const screen = openScreen({
      live: () => ({ lines: [], status: null, queued: [], choices: null }),
      onEntry: leave,
      onAnswer: leave,
      onInterrupt: leave,
      onEscape: leave,
      onUnfold: () => {},
      onTakeBack: () => null,
      onEnd: leave,
      suggest: () => null,
    });
    void screen.pick(title, choices).then(end);
  });
}

// --- internal ---

/** `--resume` alone: the sessions there are, to choose one. Null when none was chosen. */
async function pickSession(invocation: Invocation, { sessions }: RunningCore): Promise<string | null> {
  if (invocation.process.stdin.isTTY !== true) throw new UsageError("--resume needs an id where nobody can choose one");
  const { sessions: rows } = await sessions.list({ limit: MOST_OFFERED, prompted: true });
  if (rows.length === 0) throw new CliError("not_found", "there is no session to go on with");
  return pickOne(
    invocation,
    "session:",
    rows.map(({ id, summary }) => sessionChoice(id, summary)),
  );
}

/** Asks once about a directory whose files want what only a trusted one gets; the answer is kept. An end of input answers nothing. */
async function askToTrust({ process }: Invocation, { cwd, trust }: Config, wishes: readonly string[]): Promise<void> {
  if (wishes.length === 0) return;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const gone = new AbortController();
  terminal.once("close", () => gone.abort());
  try {
    const list = wishes.map((wish) => `  ${plainLine(wish)}\n`).join("");
    const question = `The files of ${plainLine(cwd)} ask for\n${list}Do you trust them? [y/N] `;
    const answer = await terminal.question(question, { signal: gone.signal });
    trust.answer(cwd, /^y(es)?$/i.test(answer.trim()));
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  } finally {
    terminal.close();
  }
}

function screenFor(
  invocation: Invocation,
  style: Style,
  history: ReturnType<typeof openInputHistory>,
): ConversationOptions["openScreen"] {
  const { stdin: input, stdout: output } = invocation.process;
  if (!hasTerminal(invocation)) {
    const lines = createLineSource(input);
    return (events) => createLineScreen(lines, output, events, input.isTTY === true);
  }
  return (events) =>
    createTerminalScreen({
      ...events,
      input,
      output,
      style,
      isConsole: invocation.process.env["TERM"] === "linux",
      history: history.entries,
      onHistory: history.keep,
    });
}

function greetingOf({ profile }: Invocation, client: SessionClient): string[] {
  const { model, cwd, id, server } = client;
  const facts = [`${profile.name} ${profile.version}`, model, cwd, id, server && `at ${server}`].filter(Boolean);
  return [facts.join(" · "), "/help lists commands, Ctrl-C stops a turn"];
}

function parseServerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url && (url.protocol === "http:" || url.protocol === "https:") && !url.username && !url.password)
    return url.origin + url.pathname.replace(/\/+$/, "");
  throw new UsageError(`${JSON.stringify(text)} is not the address of a server (for example http://127.0.0.1:5173)`);
}

const MOST_TYPED = 500;

/** What was typed before, newest first, in a file that only its owner can read. @param path null keeps it in memory. */
function openInputHistory(path: string | null) {
  const history = {
    entries: path === null ? [] : readTyped(path),
    keep(entries: readonly string[]) {
      history.entries = [...entries];
      if (path === null) return;
      const lines = entries.slice(0, MOST_TYPED).map((entry) => `${JSON.stringify(entry)}\n`);
      try {
        replaceFile(path, lines.join(""));
      } catch {
        // Where it cannot be written, a conversation goes on without it.
      }
    },
  };
  return history;
}

function readTyped(path: string): string[] {
  try {
    const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
    return lines.slice(0, MOST_TYPED).map((line) => String(JSON.parse(line)));
  } catch {
    // No history yet, or one that cannot be read: it starts anew.
    return [];
  }
}
