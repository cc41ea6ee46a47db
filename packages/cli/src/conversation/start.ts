/** Runs conversations one after the other, until somebody leaves: `/new` and `/resume` open the next. */
import { join } from "node:path";
import { type Invocation, resolvePaths } from "@chimera/host";
import type { SessionClient } from "../client/client.js";
import { EXIT_INTERRUPTED } from "../errors.js";
import { styleFor } from "../output.js";
import type { Style } from "../terminal/style.js";
import { type ConversationOptions, converse } from "./converse.js";
import { openInputHistory } from "./input-history.js";
import { createLineScreen, createLineSource } from "./line-screen.js";
import { createTerminalScreen } from "./terminal-screen.js";

export interface Opener {
  /** The session that was asked for when the program was started. */
  readonly first: SessionClient;
  /** Another one by its id, or with null a new one. */
  open(id: string | null): Promise<SessionClient>;
  /** Whether somebody is here to be asked. */
  readonly approves: boolean;
  /** Whether what is typed may be kept. */
  readonly remembers: boolean;
}

/** Whether there is a terminal that can be drawn on, and somebody to read it. */
export function hasTerminal({ process }: Invocation): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true && process.env["TERM"] !== "dumb";
}

export async function startConversation(invocation: Invocation, opener: Opener): Promise<number> {
  const { process, profile } = invocation;
  const style = styleFor(invocation);
  const path = join(resolvePaths(process.env).root, "history", `${profile.name}.jsonl`);
  const history = openInputHistory(opener.remembers ? path : null);
  const gone = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => gone.abort());
  const openScreen = screenFor(invocation, style, history);
  let client = opener.first;
  try {
    for (;;) {
      const ending = await converse({
        client,
        style,
        approves: opener.approves,
        greeting: greetingOf(invocation, client),
        width: () => (hasTerminal(invocation) ? process.stdout.columns : undefined),
        clock: Date.now,
        signal: gone.signal,
        openOther: opener.open,
        openScreen,
      });
      if (gone.signal.aborted) return EXIT_INTERRUPTED;
      if ("exit" in ending) return ending.exit;
      await client.close();
      client = ending.next;
    }
  } finally {
    await client.close();
    await history.flush();
  }
}

// --- internal ---

function screenFor(
  invocation: Invocation,
  style: Style,
  history: ReturnType<typeof openInputHistory>,
): ConversationOptions["openScreen"] {
  const { stdin: input, stdout: output } = invocation.process;
  let entries = history.entries;
  if (!hasTerminal(invocation)) {
    const lines = createLineSource(input);
    return (events) => createLineScreen(lines, output, events);
  }
  return (events) =>
    createTerminalScreen({
      ...events,
      input,
      output,
      style,
      history: entries,
      onHistory: (next) => {
        entries = [...next];
        history.save(entries);
      },
    });
}

function greetingOf({ profile }: Invocation, client: SessionClient): string[] {
  const { model, cwd, id, server } = client;
  const facts = [`${profile.name} ${profile.version}`, model, cwd, id, server && `at ${server}`].filter(Boolean);
  return [facts.join(" · "), "/help lists commands, Ctrl-C stops a turn"];
}
