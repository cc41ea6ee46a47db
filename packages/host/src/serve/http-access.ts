/** Who may reach the HTTP server and how: token, TLS pair, origins and host names, all checked before anything is bound. */
import { readFileSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import type { Invocation } from "../command/command.js";
import type { FlagValues } from "../command/flag.js";
import { UsageError } from "../command/usage-error.js";
import { envName } from "../profile.js";

export interface HttpAccess {
  readonly authToken?: string;
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly cors: readonly string[];
  readonly hosts: readonly string[];
}

export function readHttpAccess({ profile, flags, process }: Invocation, host: string): HttpAccess {
  const variable = envName(profile, "SERVER_TOKEN");
  const authToken = readToken(flags, process.env, variable);
  // Nothing this process starts needs it.
  delete process.env[variable];
  if (authToken === undefined && !isLoopback(host)) {
    throw new UsageError(`--host ${host} is not loopback: set ${variable} or --auth-token-file <file> first`);
  }
  const tls = readTls(flags);
  const names = flags["allow-host"] as readonly string[] | undefined;
  return {
    ...(authToken !== undefined && { authToken }),
    ...(tls && { tls }),
    cors: ((flags["cors"] as readonly string[] | undefined) ?? []).map(requireOrigin),
    hosts: [...(names ?? []), ...namesOf(host)],
  };
}

// --- internal ---

function readToken(flags: FlagValues, env: NodeJS.ProcessEnv, variable: string): string | undefined {
  const file = flags["auth-token-file"] as string | undefined;
  const flag = flags["auth-token"] as string | undefined;
  if (file !== undefined && flag !== undefined) {
    throw new UsageError("--auth-token and --auth-token-file exclude each other");
  }
  if (file !== undefined) return requireToken("--auth-token-file", readText("auth-token-file", file).trim());
  if (flag !== undefined) return requireToken("--auth-token", flag);
  return env[variable] === undefined ? undefined : requireToken(variable, env[variable]);
}

/** A token that no header could carry would lock everybody out; an empty one would let everybody in. */
function requireToken(source: string, token: string): string {
  if (token === "") throw new UsageError(`${source}: the token is empty`);
  if (!/^[\x21-\x2b\x2d-\x7e]+$/.test(token)) {
    throw new UsageError(`${source}: a token has visible ASCII characters only, without spaces and commas`);
  }
  return token;
}

function readTls(flags: FlagValues): HttpAccess["tls"] {
  const cert = flags["tls-cert"] as string | undefined;
  const key = flags["tls-key"] as string | undefined;
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) throw new UsageError("--tls-cert and --tls-key are given together");
  return { cert: readText("tls-cert", cert), key: readText("tls-key", key) };
}

function readText(flag: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`--${flag}: cannot read ${path}: ${(error as NodeJS.ErrnoException).code}`);
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
