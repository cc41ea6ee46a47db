/** The built-in slash commands. A command runs as a turn without a model step, so that it is in the log. */
import { MODES } from "@chimera/acp-schema/conversation";
import type { AgentEvent } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import { type CustomCommand, discoverCommands, renderCommand, splitArguments } from "./commands.js";
import { isSessionError, SessionError } from "./errors.js";
import { withOrigin } from "./people.js";
import type { Rewind } from "./rewind.js";
import type { Session } from "./session.js";
import type { CommandResolver, Sessions } from "./sessions.js";
import { type OptionOrders, parseMode, widens } from "./settings.js";

export interface SlashContext {
  readonly session: Session;
  readonly sessions: Sessions;
  readonly rewind: Rewind;
  readonly args: string;
  readonly all: readonly SlashCommand[];
  /** True if the sender has only this session's token. */
  readonly isGuest: boolean;
}

export interface SlashCommand {
  readonly name: string;
  readonly description: string;
  /** The arguments, for a client's input field. */
  readonly hint?: string;
  /** True if it reaches beyond its session, so that the session's own token is not enough. */
  readonly isForOperator?: boolean;
  /** True if it opens another session. A client with one session per thread does not offer it. */
  readonly opensSession?: boolean;
  run(context: SlashContext): Promise<string> | string;
}

export interface SlashDeps {
  readonly home: string;
  /** Further commands: `/tools`, `/permissions`, those of extensions. If two have the same name, the later one counts. */
  readonly commands?: readonly SlashCommand[];
  /** @defaultValue no option has an order */
  readonly orders?: OptionOrders;
}

export interface SlashPalette extends CommandResolver {
  readonly commands: readonly SlashCommand[];
  /** The custom commands of a workspace, read from disk now, without those that have the name of a built-in command. */
  custom(cwd: string): Promise<CustomCommand[]>;
  /** A message for each command file that is not used because it has the name of a built-in command. */
  clashes(cwd: string): Promise<string[]>;
}

/**
 * Makes the slash commands of sessions: built-in ones, those of the program, and those in files of a workspace.
 *
 * @example
 * const palette = createSlashPalette({ home: homedir() });
 * const sessions = createSessions({ ...deps, commands: palette });
 */
export function createSlashPalette(deps: SlashDeps): SlashPalette {
  const rows = new Map<string, SlashCommand>();
  for (const row of [...BUILT_IN, ...(deps.commands ?? [])]) rows.set(row.name, row);
  const commands = [...rows.values()];
  const found = (cwd: string) => discoverCommands({ home: deps.home, cwd });
  const isTaken = ({ name }: CustomCommand) => rows.has(name.toLowerCase());
  const custom = async (cwd: string) => (await found(cwd)).filter((command) => !isTaken(command));

  return {
    commands,
    custom,
    clashes: async (cwd) =>
      (await found(cwd))
        .filter(isTaken)
        .map(
          ({ name, source }) => `${source} is not used: /${name} is a built-in command. Give the file another name.`,
        ),
    async resolve(sessions, session, { text, origin, isGuest = false }, rewind) {
      const match = /^\/([\w:-]+)(?:\s+([\s\S]*))?$/.exec(text.trim());
      if (!match) return undefined;
      const name = match[1]!;
      const args = (match[2] ?? "").trim();
      if (name === COMPACT.name) return { compact: { focus: args } };
      const row = rows.get(name);
      if (row) {
        const named = withOrigin(session, origin);
        const context: SlashContext = {
          session: isGuest ? narrowOnly(named, deps.orders ?? {}) : named,
          sessions,
          rewind: (direction, options) => rewind(direction, { ...options, origin }),
          args,
          all: commands,
          isGuest,
        };
        return { agent: () => answer(() => (isGuest && row.isForOperator ? refused(row) : row.run(context))) };
      }
      const own = (await custom(session.cwd)).find((command) => command.name === name);
      return own && { prompt: renderCommand(own, splitArguments(args)) };
    },
  };
}

/**
 * Reads a number of steps: `3`, `--steps 3`, `--steps=3`, `-n 3`. Any other text means 1.
 *
 * @example
 * parseSteps("--steps 3"); // 3
 */
export function parseSteps(args: string): number {
  const match = /^(?:--steps(?:=|\s+)|-n\s+)?(\d{1,6})$/.exec(args.trim());
  return Math.max(1, Number(match?.[1] ?? 1));
}

// --- internal ---

function refused({ name }: SlashCommand): never {
  throw new SessionError("invalid_setting", `/${name} is for the operator, because it reaches beyond this session`);
}

/** The session for a caller who may narrow its settings but not widen them. */
function narrowOnly(session: Session, orders: OptionOrders): Session {
  const set: Session["set"] = async (changes, origin) => {
    if (![changes].flat().some((change) => widens(change, session.settings, orders)))
      return session.set(changes, origin);
    throw new SessionError("invalid_setting", "this session's token can only narrow its settings: ask the operator");
  };
  return Object.create(session, { set: { value: set } });
}

function rewinding(name: "undo" | "redo", description: string): SlashCommand {
  const run: SlashCommand["run"] = async ({ rewind, args }) =>
    (await rewind(name, { steps: parseSteps(args) })).message;
  return { name, description, hint: "[steps]", run };
}

async function* answer(run: () => Promise<string> | string): AsyncIterable<AgentEvent> {
  let output: string;
  let error: string | null = null;
  try {
    output = await run();
  } catch (caught) {
    if (!isSessionError(caught)) throw caught;
    output = caught.message;
    error = caught.message;
  }
  yield { type: "text_delta", metadata: { text: output } };
  yield { type: "turn_end", metadata: { stop_reason: "end_turn" } };
  yield {
    type: "agent_result",
    metadata: { output, steps: 0, tool_calls_total: 0, cost: 0, success: error === null, error },
  };
}

/** The only command that the agent runs. */
const COMPACT: SlashCommand = {
  name: "compact",
  description: "Summarize the conversation so far and continue from the summary",
  hint: "[focus]",
  run: () => "",
};

const BUILT_IN: readonly SlashCommand[] = [
  {
    name: "help",
    description: "List the commands",
    run: ({ all }) => all.map((row) => `/${row.name}${row.hint ? ` ${row.hint}` : ""} — ${row.description}`).join("\n"),
  },
  rewinding("undo", "Rewind turns: messages and files"),
  rewinding("redo", "Replay rewound turns"),
  {
    name: "model",
    description: "Show or switch the model",
    hint: "[name]",
    async run({ session, args }) {
      if (!args) return `model: ${session.settings.model}`;
      const old = session.settings.model;
      await session.set({ model: args });
      return `model: ${old} -> ${args}`;
    },
  },
  {
    name: "mode",
    description: `Show or switch the mode (${MODES.join(", ")})`,
    hint: "[mode]",
    async run({ session, args }) {
      if (!args) return `mode: ${session.mode}`;
      const old = session.mode;
      await session.set({ mode: parseMode(args) });
      return `mode: ${old} -> ${session.mode}`;
    },
  },
  {
    name: "clear",
    description: "Start the conversation over; the log keeps everything",
    async run({ session }) {
      await session.clear();
      return "/clear: the model no longer sees what came before";
    },
  },
  {
    name: "cost",
    description: "Show tokens and cost so far",
    run({ session }) {
      const usage = session.conversation.facts.usage;
      if (!usage) return "no tokens used yet";
      const price = usage.priced ? `$${usage.total_usd.toFixed(4)}` : "price unknown";
      return `${usage.input} input, ${usage.output} output, ${usage.cache} cached tokens; ${price}`;
    },
  },
  {
    name: "sessions",
    description: "List recent sessions",
    async run({ sessions, session, isGuest }) {
      if (isGuest) return `${session.id}  ${session.title ?? ""}`.trimEnd();
      const { sessions: rows } = await sessions.list({ limit: 10 });
      if (rows.length === 0) return "no sessions yet";
      return rows.map(({ id, summary }) => `${id}  ${summary.title || startOf(summary.prompt, 60)}`).join("\n");
    },
  },
  {
    name: "new",
    description: "Open a new session in the same directory; file changes of this one can then no longer be undone",
    isForOperator: true,
    opensSession: true,
    async run({ sessions, session }) {
      const { cwd, directories, persistent: persist } = session;
      const { id } = await sessions.create({ cwd, directories, persist });
      await session.snapshots?.drop();
      return `new session ${id}`;
    },
  },
  COMPACT,
];
