/** Who may reach the HTTP server and how: token, TLS pair, origins and host names, all checked before anything is bound. */
import { readFileSync, statSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import type { Invocation } from "../command/command.js";
import { UsageError } from "../command/usage-error.js";
import type { ResolvedConfig } from "../config/resolve.js";
import { envName } from "../profile.js";

export interface HttpAccess {
  readonly authToken?: string;
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly cors: readonly string[];
  readonly hosts: readonly string[];
}

export function readHttpAccess({ profile, flags, process }: Invocation, config: ResolvedConfig): HttpAccess {
  const { host, allow_host, cors, tls_cert, tls_key } = config.values;
  const variable = envName(profile, "SERVER_TOKEN");
  const authToken = readToken(flags["auth-token"] as string | undefined, process.env, variable, config);
  // Nothing this process starts needs it.
  delete process.env[variable];
  if (authToken === undefined && !isLoopback(host)) {
    throw new UsageError(`--host ${host} is not loopback: set ${variable} or --auth-token-file <file> first`);
  }
  if ((tls_cert === null) !== (tls_key === null)) throw new UsageError("--tls-cert and --tls-key are given together");
  return {
    ...(authToken !== undefined && { authToken }),
    ...(tls_cert !== null &&
      tls_key !== null && { tls: { cert: readText("--tls-cert", tls_cert), key: readText("--tls-key", tls_key) } }),
    cors: cors.map(requireOrigin),
    hosts: [...allow_host, ...namesOf(host)],
  };
}

// --- internal ---

/** What was typed, then the variable, then the file that the environment or the user's config names. */
function readToken(
  flag: string | undefined,
  env: NodeJS.ProcessEnv,
  variable: string,
  { settings, values }: ResolvedConfig,
): string | undefined {
  const named = settings.find(({ name }) => name === "auth_token_file");
  const fromFile = () =>
    values.auth_token_file === null || named === undefined
      ? undefined
      : requireToken(named.from, readSecret(named.from, values.auth_token_file).trim());
  if (named?.layer === "flag") {
    if (flag !== undefined) throw new UsageError("--auth-token and --auth-token-file exclude each other");
    return fromFile();
  }
  if (flag !== undefined) return requireToken("--auth-token", flag);
  return env[variable] === undefined ? fromFile() : requireToken(variable, env[variable]);
}

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
  const text = readText(source, path);
  if (process.platform !== "win32" && (statSync(path).mode & 0o077) !== 0) {
    throw new UsageError(`${source}: others can read ${path}: chmod 600 it first`);
  }
  return text;
}

function readText(source: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`${source}: cannot read ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

function requireOrigin(text: string): string {
  if (URL.canParse(text) && new URL(text).origin === text) return text;
  throw new UsageError(`--cors takes an origin such as https://app.example.com, not ${JSON.stringify(text)}`);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** What a client may call the interface it is bound to; bound to all of them, every address of this machine. */
function namesOf(host: string): string[] {
  if (host !== "0.0.0.0" && host !== "::") return [host];
  const addresses = Object.values(networkInterfaces()).flatMap((rows) => rows?.map((row) => row.address) ?? []);
  return [...addresses, hostname()];
}
