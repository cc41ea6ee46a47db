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
  /** False when it was not meant for us after all. */
  run(actions: LocalActions, argument: string | undefined): boolean | Promise<boolean>;
}

const COMMANDS: readonly LocalCommand[] = [
  {
    name: "help",
    description: "List the commands",
    run: ({ help }) => {
      help();
      return true;
    },
  },
  {
    name: "new",
    description: "Start a new session; what this one did to files can then no longer be undone",
    run: ({ open }) => open(null).then(() => true),
  },
  {
    name: "resume",
    description: "Go on with another session: /resume <id>",
    run: ({ open }, id) => (id === undefined ? false : open(id).then(() => true)),
  },
  ...["exit", "quit"].map(
    (name): LocalCommand => ({
      name,
      description: "Leave",
      run: ({ leave }) => {
        leave();
        return true;
      },
    }),
  ),
];

/** The session's commands and ours, which come before its own of the same name. */
export function withLocalCommands(rows: readonly PaletteRow[]): PaletteRow[] {
  return [...rows.filter(({ name }) => !COMMANDS.some((own) => own.name === name)), ...COMMANDS];
}

/** Runs what was typed when it is one of ours; false when it is for the session. */
export async function runLocalCommand(entry: string, actions: LocalActions): Promise<boolean> {
  const [, name, argument] = /^\/(\S+)(?:\s+(\S+))?\s*$/.exec(entry) ?? [];
  return (await COMMANDS.find((command) => command.name === name)?.run(actions, argument)) ?? false;
}

export function listCommands(commands: readonly PaletteRow[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length)) + 3;
  return commands.map(({ name, description }) => `${`/${name}`.padEnd(width)}${plainLine(description)}\n`).join("");
}
