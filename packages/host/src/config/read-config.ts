/**
 * Reads the config files of a user and of a directory, and resolves them with flags and the environment. It reads synchronously, because
 * the files are small and the start waits for them.
 */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { basename, resolve, sep } from "node:path";
import { orElse } from "@chimera/acp-schema/lenient";
import type { Invocation } from "../command/command.js";
import { UsageError } from "../command/usage-error.js";
import { type Paths, resolvePaths } from "../paths.js";
import { createTrust, type Trust } from "../trust.js";
import type { ConfigValues } from "./keys.js";
import { type ConfigFile, type ResolvedConfig, resolveConfig } from "./resolve.js";

export type ConfigSource = Pick<Invocation, "profile" | "flags" | "process">;

export interface Config extends ResolvedConfig {
  readonly paths: Paths;
  readonly trust: Trust;
  /** Where sessions run by default: `--cwd`, or the directory in which the program was started. */
  readonly cwd: string;
  /** The settings for a session in another directory, with the file of that project; null ignores every project. */
  under(cwd: string | null): ResolvedConfig;
}

/** @param defaults of the command, for settings without any other value. */
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
  const { store } = resolved.values;
  return { ...resolved, paths: store === null ? paths : resolvePaths(env, store), cwd, trust, under };
}

/** Reads a file that the person named; a UsageError when it cannot. @param source where it was named: `--tls-cert`, `OTTER_MCP`, a config file. */
export function readNamedFile(source: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`${source}: cannot read ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

// --- internal ---

function directory(path: string): string {
  // `statSync` may throw: a part of the path may be a file, or a link to itself.
  if (!orElse(() => statSync(path).isDirectory(), false)) throw new UsageError(`--cwd: ${path} is not a directory`);
  return path;
}

/** The project's config file; null when it is the user's own, as in the home directory. Every turn calls this, and most projects have no file. */
function readProject(cwd: string, paths: Paths): ConfigFile | null {
  const folder = `${cwd}${sep}.chimera`;
  const file = readConfigFile(folder + sep + basename(paths.config));
  if (file === null) return null;
  // `realpathSync` throws when the user's own folder does not exist yet.
  return orElse(() => realpathSync(folder) === realpathSync(paths.root), false) ? null : file;
}

const MAX_BYTES = 1024 * 1024;

/** The settings in a file; null when the file does not exist. A file that is not valid is a usage error that names it. */
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
    // Every turn asks, and most projects have no such file: an exception would cost more than this check.
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) return null;
    // Reading a pipe might never end.
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
