/** Slash commands of the conversation itself, and the choices that a person gets when a command needs one. */
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
  /** The turns that can be undone, newest first. */
  undoable(): readonly Choice[];
  readonly screen: Pick<Screen, "pick" | "print">;
  readonly choices: SessionClient["choices"];
  /** The present value of a setting; undefined while it is not known. */
  present(setting: "model" | "mode" | "agent"): string | undefined;
  /** Whether a person is here to choose. */
  readonly picks: boolean;
}

interface LocalCommand extends PaletteRow {
  /** Returns a command for the session instead; null when the work is done. */
  run(actions: LocalActions, argument: string): Promise<string | null> | string | null;
}

const done = (work: void | Promise<void>): Promise<null> | null => (work ? work.then(() => null) : null);

const COMMANDS: readonly LocalCommand[] = [
  { name: "help", description: "List the commands", run: ({ help }) => done(help()) },
  {
    name: "new",
    description: "Start a new session; this one's changes of files can then no longer be undone",
    run: ({ open }) => done(open(null)),
  },
  {
    name: "resume",
    description: "Continue another session: /resume [id]",
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
        const value = await pickFrom(actions, name, await actions.choices(name), actions.present(name));
        return value && `/${name} ${value}`;
      },
    }),
  ),
  {
    name: "undo",
    description: "Undo turns and their files: choose how many, or /undo [steps]",
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

/** Adds the local commands to the session's. A local command replaces one of the session with the same name. */
export function withLocalCommands(rows: readonly PaletteRow[]): PaletteRow[] {
  const others = rows.filter(({ name }) => !COMMANDS.some((own) => own.name === name));
  return [...COMMANDS, ...others].map(({ name, description }) => ({ name, description }));
}

/**
 * Runs a local command. Returns the text to send to the session, or null.
 *
 * @param known all known commands. When `isComplete` is false the server may have more, so unknown ones are sent to the session.
 * @throws for an unknown command, because a typing mistake should not become a prompt.
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

async function pickFrom(
  { screen }: LocalActions,
  title: string,
  choices: readonly Choice[],
  present?: string,
): Promise<string | null> {
  if (choices.length > 0) return screen.pick(`${title}:`, choices, present);
  screen.print("there is nothing to choose from\n");
  return null;
}
