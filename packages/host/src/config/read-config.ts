/** The config files of a user and of a directory, resolved with what was typed and the environment. */
import { realpath, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Invocation } from "../command/command.js";
import { UsageError } from "../command/usage-error.js";
import { type Paths, resolvePaths } from "../paths.js";
import { type ConfigFile, readConfigFile } from "./config-file.js";
import type { ConfigValues } from "./keys.js";
import { type ResolvedConfig, resolveConfig } from "./resolve.js";

export type ConfigSource = Pick<Invocation, "profile" | "flags" | "process">;

export interface Config extends ResolvedConfig {
  readonly paths: Paths;
  /** Where sessions run when nobody says otherwise: `--cwd`, or where the program was started. */
  readonly cwd: string;
  /** The same for a session in another directory, whose project may say something else. */
  under(cwd: string): Promise<ResolvedConfig>;
}

/** @param defaults what a command would rather have where nobody said anything. */
export async function readConfig(
  { profile, flags, process }: ConfigSource,
  defaults: Partial<ConfigValues> = {},
): Promise<Config> {
  const paths = resolvePaths(process.env);
  const started = process.cwd();
  const cwd = await directory(resolve(started, typeof flags["cwd"] === "string" ? flags["cwd"] : "."));
  const user = await readConfigFile(join(paths.root, FILE));
  const { env } = process;
  const layers = { program: profile.name, rows: profile.settings, flags, env, cwd: started, user, defaults };
  const under = async (directory: string) => resolveConfig({ ...layers, project: await readProject(directory, paths) });
  return { ...(await under(cwd)), paths, cwd, under };
}

// --- internal ---

const FILE = "config.json";

async function directory(path: string): Promise<string> {
  const found = await stat(path).catch(() => null);
  if (!found?.isDirectory()) throw new UsageError(`--cwd: ${path} is no directory`);
  return path;
}

/** In the home directory the project's file would be the user's own. Most projects have none, and every turn asks. */
async function readProject(cwd: string, paths: Paths): Promise<ConfigFile | null> {
  const folder = join(cwd, ".chimera");
  const file = await readConfigFile(join(folder, FILE));
  if (file === null) return null;
  const [theirs, ours] = await Promise.all([folder, paths.root].map((path) => realpath(path).catch(() => path)));
  return theirs === ours ? null : file;
}
