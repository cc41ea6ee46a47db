/** The engines of a program: the built-in one, and every ACP agent that the person has configured or that is installed here. */

import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { delimiter } from "node:path";
import type { AcpEngine } from "@chimera/acp-engine";
import type { Agent } from "@chimera/acp-schema/agent";
import { ENGINE_OPTION } from "@chimera/acp-schema/conversation";
import type { EnginesReply } from "@chimera/acp-schema/http";
import { opening } from "@chimera/acp-schema/outbox";
import { quoteWord } from "@chimera/acp-schema/text";
import type { SessionOption } from "@chimera/acp-server";
import type { Confine } from "@chimera/agent";
import { SessionError } from "@chimera/session";
import { UsageError } from "./command/usage-error.js";
import type { ConfigValues } from "./config/keys.js";
import type { EngineSetting } from "./config/kind.js";
import type { Log } from "./log/log.js";
import type { Profile } from "./profile.js";

/** The name of the built-in engine. */
export const BUILT_IN = "chimera";
/** The name of the engine that `--engine-command` gives. */
const UNNAMED = "command";

/** A row with a command, and the npm package that installs the command. */
type Preset = EngineSetting & { readonly command: string; readonly package?: string };

/** How to start well-known agents where they are installed. */
const PRESETS: Readonly<Record<string, Preset>> = {
  codex: {
    package: "@zed-industries/codex-acp",
    command: "codex-acp",
    passEnv: ["OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL"],
    state: "~/.codex",
  },
  claude: {
    package: "@agentclientprotocol/claude-agent-acp",
    command: "claude-agent-acp",
    passEnv: ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN"],
    state: "~/.claude",
  },
  gemini: {
    package: "@google/gemini-cli",
    command: "gemini",
    args: ["--acp"],
    passEnv: ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"],
    state: "~/.gemini",
  },
  qwen: {
    package: "@qwen-code/qwen-code",
    command: "qwen",
    args: ["--acp"],
    passEnv: ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"],
    state: "~/.qwen",
  },
  opencode: {
    package: "opencode-ai",
    command: "opencode",
    args: ["acp"],
    passEnv: ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"],
    state: "~/.local/share/opencode",
  },
};

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

export function createEngines(options: {
  readonly values: Pick<ConfigValues, "engine" | "engine_command" | "engines">;
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly profile: Profile;
  readonly log: Log;
  /** The confinement of a program's extensions, loaded with the first engine. */
  readonly confine: () => Promise<Confine | undefined>;
}): Engines {
  const { values, env, home, profile, log } = options;
  const rows = engineRows(values, env, home);
  const opened = new Map<string, Promise<AcpEngine>>();

  const open = async (name: string): Promise<AcpEngine> => {
    const row = rows.find((one) => one.name === name);
    if (!row) throw new UsageError(`there is no engine ${JSON.stringify(name)}; ${namesOf(rows)}`);
    const engine = opened.get(name) ?? openEngine(row, options);
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

/** An ACP agent as a program to start. */
interface EngineRow extends Required<Omit<EngineSetting, "auth" | "state">> {
  readonly name: string;
  readonly auth: string | null;
  readonly state: string | null;
  /** Whether its program can be found here. */
  readonly installed: boolean;
}

/** The programs that can run turns: the presets with what a person's rows change, the other rows, and the command without a name. */
function programsOf({ engines, engine_command }: Pick<ConfigValues, "engines" | "engine_command">) {
  const named = new Map<string, Preset>(Object.entries(PRESETS));
  for (const [name, row] of Object.entries(engines)) {
    const command = row.command ?? named.get(name)?.command;
    if (command === undefined)
      throw new UsageError(
        `the engine ${name} of the configuration needs a command, because it is not a well-known one`,
      );
    named.set(name, { ...named.get(name), ...row, command });
  }
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
  }));
}

function namesOf(rows: readonly EngineRow[]): string {
  return `choose one of ${[BUILT_IN, ...rows.map(({ name }) => name)].join(", ")}`;
}

function isInstalled(command: string, path: string): boolean {
  // Every new session checks every engine in every directory, so `existsSync` comes first: it does not throw for missing files.
  const places = command.includes("/")
    ? [command]
    : path.split(delimiter).map((directory) => `${directory}/${command}`);
  return places.filter(existsSync).some((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

async function openEngine(
  row: EngineRow,
  { env, profile, log, confine }: Parameters<typeof createEngines>[0],
): Promise<AcpEngine> {
  if (!row.installed) throw new UsageError(whyMissing(row));
  const [{ createAcpEngine }, { cleanEnvironment, spawnGroup }, bounds] = await Promise.all([
    import("@chimera/acp-engine"),
    import("@chimera/agent/tools"),
    confine(),
  ]);
  const passed = row.passEnv.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  return createAcpEngine({
    name: row.name,
    command: row.command,
    args: row.args,
    env: { ...cleanEnvironment(env), ...Object.fromEntries(passed), ...row.env },
    ...(row.auth !== null && { auth: row.auth }),
    client: { name: profile.name, title: profile.title, version: profile.version },
    onTrouble: (text) => log.info("an engine says", { engine: row.name, text }),
    async start(program) {
      const line = [program.command, ...program.args].map(quoteWord).join(" ");
      // A sandbox can open only an existing directory to the agent.
      if (bounds && row.state !== null) mkdirSync(row.state, { recursive: true, mode: 0o700 });
      const workspace = { cwd: program.cwd, directories: [], ...(row.state !== null && { own: row.state }) };
      const within = await bounds?.({
        command: `exec ${line}`,
        cwd: program.cwd,
        workspace,
        env: program.env,
        network: true,
      });
      if (within && "refused" in within) throw new Error(within.refused);
      const target = within ?? { file: program.command, args: program.args, env: program.env };
      const group = spawnGroup(target.file, target.args, { cwd: program.cwd, ...target, input: true, lifeline: true });
      const { child } = group;
      const gone = new Promise<string>((resolve) => {
        child.once("error", (error) => resolve(error.message));
        child.once("close", (code, signal) => resolve(signal ?? `exit code ${code}`));
      }).finally(() => within?.release?.());
      child.stdin?.on("error", () => {});
      return {
        pid: child.pid,
        stdin: child.stdin!,
        stdout: child.stdout!,
        stderr: child.stderr!,
        gone,
        end: group.end,
      };
    },
  });
}

function whyMissing({ name, command }: EngineRow): string {
  const preset = PRESETS[name];
  const how =
    preset?.command === command
      ? `npm install -g ${preset.package}`
      : "install it, or name another command in the configuration";
  return `the engine ${name} runs ${command}, which is not installed: ${how}`;
}
