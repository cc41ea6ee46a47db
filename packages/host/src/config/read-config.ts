/**
 * The config files of a user and of a directory, resolved with what was typed and the environment. They are read synchronously: they
 * are small, and the start waits for them.
 */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { Invocation } from "../command/command.js";
import { UsageError } from "../command/usage-error.js";
import { orElse } from "../or-else.js";
import { type Paths, resolvePaths } from "../paths.js";
import { createTrust, type Trust } from "../trust.js";
import type { ConfigValues } from "./keys.js";
import { type ConfigFile, type ResolvedConfig, resolveConfig } from "./resolve.js";

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
  const resolved = under(cwd);
  return { ...resolved, paths: resolvePaths(env, resolved.values.store), cwd, trust, under };
}

/** A file that somebody named must be there. @param source how it was named: `--tls-cert`, `OTTER_MCP`, a config file. */
export function readNamedFile(source: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`${source}: cannot read ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

// --- internal ---

function directory(path: string): string {
  // A part of the path may be a file, or a link to itself.
  if (!orElse(() => statSync(path).isDirectory(), false)) throw new UsageError(`--cwd: ${path} is not a directory`);
  return path;
}

/** In the home directory the project's file would be the user's own. Most projects have none, and every turn asks. */
function readProject(cwd: string, paths: Paths): ConfigFile | null {
  const folder = join(cwd, ".chimera");
  const file = readConfigFile(join(folder, basename(paths.config)));
  if (file === null) return null;
  // The user's own may not exist yet.
  return orElse(() => realpathSync(folder) === realpathSync(paths.root), false) ? null : file;
}

const MAX_BYTES = 1024 * 1024;

/** The settings in a file; null where the file does not exist. One that cannot be understood is a usage error that names it. */
function readConfigFile(path: string): ConfigFile | null {
  const content = readText(path);
  if (content === null) return null;
  let values: unknown;
  try {
    values = JSON.parse(content.replace(/^\uFEFF/, ""));
  } catch (error) {
    // The message leaves out the file's text, because a project's file may be a link to a secret.
    throw new UsageError(`${path}: not JSON: ${(error as Error).message.split(/,? (?:\.{3})?"|\n/, 1)[0]}`);
  }
  if (typeof values !== "object" || values === null || Array.isArray(values)) {
    throw new UsageError(`${path}: takes an object of settings`);
  }
  return { path, values: values as Record<string, unknown> };
}

function readText(path: string): string | null {
  try {
    // Asked in every turn, and most projects have no such file: throwing would cost more than the check.
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) return null;
    // A pipe would never end.
    if (!found.isFile() || found.size > MAX_BYTES)
      throw new UsageError(`${path}: takes a file of at most ${MAX_BYTES} bytes`);
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    if (code === undefined) throw error;
    throw new UsageError(`${path}: cannot be read: ${message}`);
  }
}
