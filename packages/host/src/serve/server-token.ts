/** The master token of a server, for the one who serves and for the one who calls. */
import { statSync } from "node:fs";
import type { Invocation } from "../command/command.js";
import { UsageError } from "../command/usage-error.js";
import { readNamedFile } from "../config/named-file.js";
import { type ResolvedConfig, settingOf } from "../config/resolve.js";
import { envName } from "../profile.js";

/** What was typed, then the variable, then the file that the environment or the user's config names. */
export function readServerToken(
  { profile, flags, process }: Pick<Invocation, "profile" | "flags" | "process">,
  config: ResolvedConfig,
): string | undefined {
  const typed = flags["auth-token"] as string | undefined;
  const variable = envName(profile, "SERVER_TOKEN");
  const { auth_token_file: file } = config.values;
  const named = settingOf(config, "auth_token_file");
  const fromFile = () =>
    file === null || named === undefined ? undefined : requireToken(named.from, readSecret(named.from, file).trim());
  if (named?.layer === "flag") {
    if (typed !== undefined) throw new UsageError("--auth-token and --auth-token-file exclude each other");
    return fromFile();
  }
  if (typed !== undefined) return requireToken("--auth-token", typed);
  const set = process.env[variable];
  return set === undefined ? fromFile() : requireToken(variable, set);
}

// --- internal ---

/** A token that no header could carry would lock everybody out; an empty one would let everybody in. */
function requireToken(source: string, token: string): string {
  if (token === "") throw new UsageError(`${source}: the token is empty`);
  if (!/^[\x21-\x2b\x2d-\x7e]+$/.test(token)) {
    throw new UsageError(`${source}: a token has visible ASCII characters only, without spaces and commas`);
  }
  return token;
}

/** A secret is only taken from a file that nobody else can read. Windows has no such modes. */
function readSecret(source: string, path: string): string {
  const text = readNamedFile(source, path);
  if (process.platform !== "win32" && (statSync(path).mode & 0o077) !== 0) {
    throw new UsageError(`${source}: others can read ${path}: chmod 600 it first`);
  }
  return text;
}
