/** The engines of a program: the built-in one, and every ACP agent that the person has configured or that is installed here. */

import { accessSync, constants, existsSync } from "node:fs";
import { delimiter } from "node:path";
import type { AcpEngine } from "@chimera/acp-engine";
import type { Agent } from "@chimera/acp-schema/agent";
import { ENGINE_OPTION } from "@chimera/acp-schema/conversation";
import type { EnginesReply } from "@chimera/acp-schema/http";
import { orElse } from "@chimera/acp-schema/lenient";
import { opening } from "@chimera/acp-schema/outbox";
import type { SessionOption } from "@chimera/acp-server";
import { SessionError } from "@chimera/session";
import { UsageError } from "./command/usage-error.js";
import { PRESETS } from "./config/engine-setting.js";
import type { ConfigValues } from "./config/keys.js";
import type { EngineRow, EngineSurroundings } from "./open-engine.js";

/** The name of the built-in engine. */
export const BUILT_IN = "chimera";
/** The name of the engine that `--engine-command` gives. */
const UNNAMED = "command";

export interface Engines {
  /** The engines for clients and people, the built-in one first. */
  list(): EnginesReply["engines"];
  /** The choice of an engine as an option; it can be changed until the first prompt. */
  readonly option: SessionOption;
  /** Sends each turn to the engine of its session. */
  route(builtIn: Agent): Agent;
  set(sessionId: string, id: string, value: string | boolean): Promise<void>;
  /** The engine of that name. Throws a UsageError that lists the valid names. */
  open(name: string): Promise<AcpEngine>;
  closeSession(sessionId: string): Promise<void>;
  close(): Promise<void>;
}

export interface EnginesOptions extends EngineSurroundings {
  readonly values: Pick<ConfigValues, "engine" | "engine_command" | "engines">;
  readonly home: string;
}

export function createEngines(options: EnginesOptions): Engines {
  const { values, env, home, profile, log } = options;
  const rows = engineRows(values, env, home);
  const opened = new Map<string, Promise<AcpEngine>>();

  const open = async (name: string): Promise<AcpEngine> => {
    const row = rows.find((one) => one.name === name);
    const names = engineNames(values).join(", ");
    if (!row) throw new UsageError(`there is no engine ${JSON.stringify(name)}; choose one of ${names}`);
    const engine = opened.get(name) ?? import("./open-engine.js").then(({ openEngine }) => openEngine(row, options));
    opened.set(name, engine);
    // After a failure, the next turn tries again.
    engine.catch(() => opened.delete(name));
    return engine;
  };
  const each = (act: (engine: AcpEngine) => Promise<unknown>) =>
    Promise.all([...opened.values()].map(async (engine) => act(await engine)));
  const choices = [
    { id: BUILT_IN, name: BUILT_IN, description: `The engine that is part of ${profile.name}` },
    ...rows
      .filter(({ installed }) => installed)
      .map(({ name, command }) => ({ id: name, name, description: `Runs ${command}` })),
  ];

  return {
    list: () => [
      { name: BUILT_IN, description: choices[0]!.description, kind: "own", installed: true },
      ...rows.map(({ name, command, installed }) => ({
        name,
        description: `Runs ${command}`,
        kind: "acp" as const,
        installed,
      })),
    ],
    option: {
      id: "engine",
      name: "Engine",
      description: "The program that runs turns; it cannot be changed after the first prompt",
      choices,
      offered: () => choices.length > 1,
      current: ({ settings }) => String(settings.options["engine"] ?? BUILT_IN),
      change(session, value) {
        if (session.conversation.turns.length === 0) return { option: "engine", value };
        const reason = "the engine of a session cannot be changed after its first prompt; open a new session";
        throw new SessionError("invalid_setting", reason);
      },
    },
    route: (builtIn) => (turn, context) => {
      const name = turn.settings.options["engine"] ?? BUILT_IN;
      if (name === BUILT_IN) return builtIn(turn, context);
      return opening(async () => ({ first: [], rest: (await open(String(name))).agent(turn, context) }));
    },
    async set(sessionId, id, value) {
      if (!id.startsWith(ENGINE_OPTION)) return;
      await each((engine) => engine.set(sessionId, id.slice(ENGINE_OPTION.length), value)).catch((error) =>
        log.warn("an engine did not take a setting", { session: sessionId, id, error: String(error) }),
      );
    },
    open,
    closeSession: async (sessionId) => void (await each((engine) => engine.closeSession(sessionId))),
    close: async () => void (await each((engine) => engine.close())),
  };
}

/** The engine of new sessions: a given command is used unless an engine was named. */
export function chosenEngine({ engine, engine_command }: Pick<ConfigValues, "engine" | "engine_command">): string {
  return engine === BUILT_IN && engine_command !== null ? UNNAMED : engine;
}

/** The engine names that a person may choose from. */
export function engineNames(values: Pick<ConfigValues, "engines" | "engine_command">): string[] {
  return [BUILT_IN, ...programsOf(values).keys()];
}

// --- internal ---

/** The programs that can run turns: the well-known ones and the person's rows, and the command without a name. */
function programsOf({ engines, engine_command }: Pick<ConfigValues, "engines" | "engine_command">) {
  const named = new Map([...PRESETS, ...Object.entries(engines)]);
  if (engine_command !== null) {
    const [command = "", ...args] = engine_command;
    named.set(UNNAMED, { command, args });
  }
  return named;
}

function engineRows(values: Parameters<typeof programsOf>[0], env: NodeJS.ProcessEnv, home: string): EngineRow[] {
  return [...programsOf(values)].map(([name, row]) => ({
    name,
    command: row.command,
    args: row.args ?? [],
    env: row.env ?? {},
    passEnv: row.passEnv ?? [],
    auth: row.auth ?? null,
    state: row.state?.replace(/^~(?=\/)/, home) ?? null,
    installed: isInstalled(row.command, env["PATH"] ?? ""),
    package: row.command === PRESETS.get(name)?.command ? (row.package ?? null) : null,
  }));
}

function isInstalled(command: string, path: string): boolean {
  // Every new session checks every engine in every directory, so `existsSync` comes first: it does not throw for missing files.
  const places = command.includes("/")
    ? [command]
    : path.split(delimiter).map((directory) => `${directory}/${command}`);
  return places
    .filter(existsSync)
    .some((place) => orElse(() => accessSync(place, constants.X_OK) === undefined, false));
}
