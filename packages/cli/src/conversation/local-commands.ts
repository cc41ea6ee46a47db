/** Slash commands about this conversation rather than about the session, and the choices a person is offered where a command takes one. */
import { nearest } from "@chimera/host";
import type { PaletteRow, SessionClient } from "../client/client.js";
import { wrap } from "../terminal/markdown.js";
import { plainLine } from "../terminal/text.js";
import type { Choice, Screen } from "./screen.js";

export interface LocalActions {
  leave(): void;
  help(): void;
  /** Null opens a new session. */
  open(id: string | null): Promise<void>;
  /** The turns that can be taken back, newest first. */
  undoable(): readonly Choice[];
  readonly screen: Pick<Screen, "pick" | "print">;
  readonly choices: SessionClient["choices"];
  /** Whether somebody is here to pick. */
  readonly picks: boolean;
}

interface LocalCommand extends PaletteRow {
  /** What is typed in its place: a command of the session; null when it is done. */
  run(actions: LocalActions, argument: string): Promise<string | null> | string | null;
}

const done = (work: void | Promise<void>): Promise<null> | null => (work ? work.then(() => null) : null);

const COMMANDS: readonly LocalCommand[] = [
  { name: "help", description: "List the commands", run: ({ help }) => done(help()) },
  {
    name: "new",
    description: "Start a new session; what this one did to files can then no longer be undone",
    run: ({ open }) => done(open(null)),
  },
  {
    name: "resume",
    description: "Go on with another session: /resume [id]",
    async run(actions, argument) {
      const { choices, picks, screen, open } = actions;
      if (argument === "" && !picks) {
        const rows = await choices("session");
        screen.print(rows.map(({ value, label }) => `${value}  ${label}\n`).join("") || "no other session\n");
        return null;
      }
      const id = argument || (await pickFrom(actions, "session", await choices("session")));
      if (id) await open(id);
      return null;
    },
  },
  ...(["model", "mode", "agent"] as const).map(
    (name): LocalCommand => ({
      name,
      description: `Choose the ${name}, or name one: /${name} [name]`,
      async run(actions, argument) {
        if (argument !== "" || !actions.picks) return `/${name} ${argument}`.trimEnd();
        const value = await pickFrom(actions, name, await actions.choices(name));
        return value && `/${name} ${value}`;
      },
    }),
  ),
  {
    name: "undo",
    description: "Take turns back, files too: choose from which on, or /undo [steps]",
    async run(actions, argument) {
      const turns = actions.undoable();
      if (argument !== "" || !actions.picks || turns.length < 2) return `/undo ${argument}`.trimEnd();
      const steps = await pickFrom(actions, "take back", turns);
      return steps && `/undo ${steps}`;
    },
  },
  { name: "exit", description: "Leave", run: ({ leave }) => done(leave()) },
  { name: "quit", description: "Leave", run: ({ leave }) => done(leave()) },
];

/** The session's commands and ours, which come before its own of the same name. */
export function withLocalCommands(rows: readonly PaletteRow[]): PaletteRow[] {
  const others = rows.filter(({ name }) => !COMMANDS.some((own) => own.name === name));
  return [...COMMANDS, ...others].map(({ name, description }) => ({ name, description }));
}

/**
 * Runs what was typed as far as it is ours. Gives what is left for the session, or null.
 *
 * @param known the commands there are. Where a server may have more (`isComplete` is false), the session is asked.
 * @throws for a command that nobody knows: a typing mistake is not a prompt.
 */
export async function runLocalCommand(
  entry: string,
  actions: LocalActions,
  known: readonly PaletteRow[],
  isComplete: boolean,
): Promise<string | null> {
  const [, name, argument = ""] = /^\/([\w:-]+)(?:\s+([\s\S]*))?$/.exec(entry) ?? [];
  if (name === undefined) return entry;
  const command = COMMANDS.find((one) => one.name === name);
  if (command) return command.run(actions, argument.trim());
  if (known.some((row) => row.name === name)) return entry;
  const near = nearest(
    name,
    known.map((row) => row.name),
  );
  if (near === undefined && !isComplete) return entry;
  const hint = near === undefined ? "/help lists them" : `did you mean /${near}?`;
  throw new Error(`there is no command /${name}; ${hint} (a space before the slash sends it as text)`);
}

export function listCommands(commands: readonly PaletteRow[], columns: number | undefined): string {
  const width = Math.max(...commands.map(({ name }) => name.length)) + 3;
  const lines = commands.map(({ name, description }) =>
    wrap(plainLine(description), columns, `/${name}`.padEnd(width)),
  );
  return `${lines.join("\n")}\n`;
}

// --- internal ---

async function pickFrom({ screen }: LocalActions, title: string, choices: readonly Choice[]): Promise<string | null> {
  if (choices.length > 0) return screen.pick(`${title}:`, choices);
  screen.print("there is nothing to choose from\n");
  return null;
}
