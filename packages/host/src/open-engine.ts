/** Starts the program of an engine, confined if its program has a sandbox. Loaded with the first turn of such an engine. */
import { mkdirSync } from "node:fs";
import { type AcpEngine, createAcpEngine } from "@chimera/acp-engine";
import { quoteWord } from "@chimera/acp-schema/text";
import type { Confine } from "@chimera/agent";
import { UsageError } from "./command/usage-error.js";
import type { EngineSetting } from "./config/engine-setting.js";
import type { Log } from "./log/log.js";
import type { Profile } from "./profile.js";

/** An ACP agent as a program to start. */
export interface EngineRow extends Required<Omit<EngineSetting, "auth" | "state" | "package">> {
  readonly name: string;
  readonly auth: string | null;
  readonly state: string | null;
  /** Whether its program can be found here. */
  readonly installed: boolean;
  /** The npm package that installs the command of a well-known one. */
  readonly package: string | null;
}

export interface EngineSurroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly profile: Profile;
  readonly log: Log;
  /** The confinement of a program's extensions, loaded with the first engine. */
  readonly confine: () => Promise<Confine | undefined>;
}

export async function openEngine(
  row: EngineRow,
  { env, profile, log, confine }: EngineSurroundings,
): Promise<AcpEngine> {
  if (!row.installed) throw new UsageError(whyMissing(row));
  const [{ cleanEnvironment, spawnGroup }, bounds] = await Promise.all([import("@chimera/agent/tools"), confine()]);
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

// --- internal ---

function whyMissing({ name, command, package: wanted }: EngineRow): string {
  const how = wanted === null ? "install it, or name another command in the configuration" : `npm install -g ${wanted}`;
  return `the engine ${name} runs ${command}, which is not installed: ${how}`;
}
