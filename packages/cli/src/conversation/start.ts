/** Runs conversations one after the other until the person leaves. `/new` and `/resume` open the next one. */
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline/promises";
import { orElse } from "@chimera/acp-schema/lenient";
import { plainWord } from "@chimera/acp-schema/text";
import { replaceFileSync } from "@chimera/event-store/claim";
import {
  CONFIG_KEYS,
  type Config,
  type Invocation,
  openCore,
  type RunningCore,
  readClientToken,
  readConfig,
  requireHome,
  resolvePaths,
  UsageError,
} from "@chimera/host";
import { requireOperand } from "../actions.js";
import { MOST_OFFERED, type SessionClient, sessionChoice } from "../client/client.js";
import { createServer, createSession, idThere, newest, remoteClient } from "../client/remote.js";
import { CliError, EXIT_INTERRUPTED } from "../errors.js";
import { openSession, readRunFlags, type SessionChoice, sayKept, typedSettings } from "../open-session.js";
import { styleFor } from "../output.js";
import type { Style } from "../terminal/style.js";
import { plainLine } from "../terminal/text.js";
import { createFileFinder } from "./attachments.js";
import { type ConversationOptions, converse } from "./converse.js";
import { type Choice, createLineScreen, createLineSource } from "./screen.js";
import { createTerminalScreen } from "./terminal-screen.js";

interface Opener {
  /** The session of the first conversation. */
  readonly first: SessionClient;
  /** Opens another session by its id; null opens a new one. */
  open(id: string | null): Promise<SessionClient>;
  /** Whether a person is here to answer. */
  readonly approves: boolean;
  /** Whether to keep a history of the person's entries. */
  readonly remembers: boolean;
  /** The first prompt, from the command line. */
  readonly prompt?: string | undefined;
  readonly divertLog?: ConversationOptions["divertLog"];
  readonly indexed?: ConversationOptions["indexed"];
}

/** Whether input and output are a terminal that can be drawn on. */
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
        farewell: client.persistent && hasTerminal(invocation) ? farewellOf(invocation, client) : null,
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

/** `otter` without a command: a conversation with a session of this process. */
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

/** `attach`: the same conversation with a session of a running server. */
export async function attach(invocation: Invocation): Promise<number> {
  const { operands, process, flags } = invocation;
  const typed = typedSettings(flags);
  const url = parseServerUrl(requireOperand(invocation, "a server: attach http://127.0.0.1:5173"));
  const server = createServer(url, readClientToken(invocation, readConfig(invocation), url));
  const joined = operands[1] ? await idThere(server, operands[1]) : await newest(server);
  if (joined !== undefined) sayKept(invocation, server, typed);
  return startConversation(invocation, {
    approves: process.stdin.isTTY === true,
    remembers: true,
    first: await remoteClient(server, joined ?? (await createSession(server, typed))),
    open: async (id) => remoteClient(server, await (id ? idThere(server, id) : createSession(server, typed))),
  });
}

/** Lets the person choose outside a conversation. Null when they choose nothing. */
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

/** `--resume` without an id: lets the person choose a session. Null when they choose none. */
async function pickSession(invocation: Invocation, { sessions }: RunningCore): Promise<string | null> {
  if (invocation.process.stdin.isTTY !== true) throw new UsageError("--resume needs an id when nobody can choose one");
  const { sessions: rows } = await sessions.list({ limit: MOST_OFFERED, prompted: true });
  if (rows.length === 0) throw new CliError("not_found", "there is no session to continue");
  return pickOne(
    invocation,
    "session:",
    rows.map(({ id, summary }) => sessionChoice(id, summary)),
  );
}

/** Asks once whether to trust a directory whose files need that, and keeps the answer. The end of the input is not an answer. */
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
  // Between two screens nobody else handles a terminal that goes away.
  input.on("error", () => {});
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

function farewellOf({ calledAs, flags }: Invocation, { id, server }: SessionClient): string {
  const end = id.slice(-8);
  const { store, "auth-token-file": token } = flags;
  // The password of a database may have come from a variable, so it is not shown.
  const shown = store === undefined ? undefined : CONFIG_KEYS.store.show?.(String(store));
  const where = Object.entries({ store: shown, "auth-token-file": token })
    .map(([flag, value]) => (value === undefined ? "" : ` --${flag} ${plainWord(String(value))}`))
    .join("");
  return `to go on: ${calledAs} ${server === null ? `--resume ${end}` : `attach ${server} ${end}`}${where}`;
}

function parseServerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url && (url.protocol === "http:" || url.protocol === "https:") && !url.username && !url.password)
    return url.origin + url.pathname.replace(/\/+$/, "");
  throw new UsageError(`${JSON.stringify(text)} is not the address of a server (for example http://127.0.0.1:5173)`);
}

const MOST_TYPED = 500;

/** The history of entries, newest first, in a file that only its owner can read. @param path null keeps it in memory only */
function openInputHistory(path: string | null) {
  const history = {
    entries: path === null ? [] : readTyped(path),
    keep(entries: readonly string[]) {
      history.entries = [...entries];
      if (path === null) return;
      const lines = entries.slice(0, MOST_TYPED).map((entry) => `${JSON.stringify(entry)}\n`);
      // The conversation continues without a history that cannot be written.
      orElse(() => {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        replaceFileSync(path, lines.join(""));
      }, undefined);
    },
  };
  return history;
}

function readTyped(path: string): string[] {
  const read = () => readFileSync(path, "utf8").split("\n").filter(Boolean).slice(0, MOST_TYPED);
  // When there is no history, or it cannot be read, start with an empty one.
  return orElse(() => read().map((line) => String(JSON.parse(line))), []);
}
