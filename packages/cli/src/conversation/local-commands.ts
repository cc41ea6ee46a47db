/** Slash commands about this conversation rather than about the session; they are answered here. */
import type { PaletteRow } from "../client/client.js";
import { plainLine } from "../terminal/text.js";

export interface LocalActions {
  leave(): void;
  help(): void;
  /** Null opens a new session. */
  open(id: string | null): Promise<void>;
}

interface LocalCommand extends PaletteRow {
  /** Without an argument it is the session's. */
  readonly needsArgument?: boolean;
  run(actions: LocalActions, argument: string): void | Promise<void>;
}

const COMMANDS: readonly LocalCommand[] = [
  {
    name: "help",
    description: "List the commands",
    run: ({ help }) => help(),
  },
  {
    name: "new",
    description: "Start a new session; what this one did to files can then no longer be undone",
    run: ({ open }) => open(null),
  },
  {
    name: "resume",
    description: "Go on with another session: /resume <id>",
    needsArgument: true,
    run: ({ open }, id) => open(id),
  },
  { name: "exit", description: "Leave", run: ({ leave }) => leave() },
  { name: "quit", description: "Leave", run: ({ leave }) => leave() },
];

/** The session's commands and ours, which come before its own of the same name. */
export function withLocalCommands(rows: readonly PaletteRow[]): PaletteRow[] {
  return [...rows.filter(({ name }) => !COMMANDS.some((own) => own.name === name)), ...COMMANDS];
}

/** Runs what was typed when it is one of ours; false when it is for the session. */
export async function runLocalCommand(entry: string, actions: LocalActions): Promise<boolean> {
  const [, name, argument = ""] = /^\/(\S+)(?:\s+(\S+))?\s*$/.exec(entry) ?? [];
  const command = COMMANDS.find((one) => one.name === name);
  if (!command || (command.needsArgument && argument === "")) return false;
  await command.run(actions, argument);
  return true;
}

export function listCommands(commands: readonly PaletteRow[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length)) + 3;
  return commands.map(({ name, description }) => `${`/${name}`.padEnd(width)}${plainLine(description)}\n`).join("");
}
