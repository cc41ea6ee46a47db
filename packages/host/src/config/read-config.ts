/** The config files of a user and of a directory, resolved with what was typed and the environment. */
import { realpathSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { Invocation } from "../command/command.js";
import { UsageError } from "../command/usage-error.js";
import { type Paths, resolvePaths } from "../paths.js";
import { createTrust, type Trust } from "../trust.js";
import { type ConfigFile, readConfigFile } from "./config-file.js";
import type { ConfigValues } from "./keys.js";
import { type ResolvedConfig, resolveConfig } from "./resolve.js";

export type ConfigSource = Pick<Invocation, "profile" | "flags" | "process">;

export interface Config extends ResolvedConfig {
  readonly paths: Paths;
  readonly trust: Trust;
  /** Where sessions run when nobody says otherwise: `--cwd`, or where the program was started. */
  readonly cwd: string;
  /** The same for a session in another directory, with the file of that project; null ignores every project. */
  under(cwd: string | null): ResolvedConfig;
}

/** @param defaults of the command, for settings that nobody gave. */
export function readConfig({ profile, flags, process }: ConfigSource, defaults: Partial<ConfigValues> = {}): Config {
  const paths = resolvePaths(process.env);
  const started = process.cwd();
  const cwd = directory(resolve(started, typeof flags["cwd"] === "string" ? flags["cwd"] : "."));
  const user = readConfigFile(paths.config);
  const trust = createTrust(paths.trusted, paths.home);
  if (flags["trust"] === true) trust.answer(cwd, true);
  const { env } = process;
  const layers = { program: profile.name, rows: profile.settings, flags, env, cwd: started, user, defaults };
  const plain = resolveConfig({ ...layers, project: null });
  const under = (directory: string | null) => {
    const project = directory === null ? null : readProject(directory, paths);
    const trusted = () => directory !== null && trust.isTrusted(directory);
    return project === null ? plain : resolveConfig({ ...layers, project, trusted });
  };
  return { ...under(cwd), paths, cwd, trust, under };
}

// --- internal ---

function directory(path: string): string {
  if (!isDirectory(path)) throw new UsageError(`--cwd: ${path} is not a directory`);
  return path;
}

/** A part of the path may be a file, or a link to itself. */
function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** In the home directory the project's file would be the user's own. Most projects have none, and every turn asks. */
function readProject(cwd: string, paths: Paths): ConfigFile | null {
  const folder = join(cwd, ".chimera");
  const file = readConfigFile(join(folder, basename(paths.config)));
  return file !== null && isSame(folder, paths.root) ? null : file;
}

function isSame(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    // The user's own file does not exist yet.
    return false;
  }
}
