/** Who may reach the HTTP server and how: token, TLS pair, origins and host names. All are checked before the server binds. */
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { orElse } from "@chimera/acp-schema/lenient";
import type { Invocation } from "../command/command.js";
import { UsageError } from "../command/usage-error.js";
import { readNamedFile } from "../config/read-config.js";
import { type ResolvedConfig, settingOf } from "../config/resolve.js";
import { resolvePaths } from "../paths.js";
import type { ProxyTrust } from "../people/open-people.js";
import { envName } from "../profile.js";
import { type ListenAddress, nameOf } from "./listen-addresses.js";

export interface HttpAccess {
  readonly authToken?: string;
  /** The file of the token, which can be read again; null for a token from the command line or a variable, or that was made. */
  readonly tokenFile: SecretFile | null;
  /** True when this process made the token; it is stored where the user's own programs find it. */
  readonly isTokenMade: boolean;
  readonly tls?: {
    readonly cert: string;
    readonly key: string;
    readonly files: readonly [cert: string, key: string];
  };
  /** A proxy that names people; null for none. */
  readonly proxy: ProxyTrust | null;
  readonly cors: readonly string[];
  readonly hosts: readonly string[];
}

interface SecretFile {
  /** The flag, variable or file that named it, for messages. */
  readonly source: string;
  readonly path: string;
}

/** The value of `--auth-token` that makes a token. */
const AUTO = "auto";

/** @param made the token to use when one is to be made. */
export function readHttpAccess(
  invocation: Invocation,
  config: ResolvedConfig,
  made: string,
  addresses: readonly ListenAddress[],
): HttpAccess {
  const { profile, process } = invocation;
  const { allow_host, cors, tls_cert, tls_key } = config.values;
  const ports = addresses.filter((address) => address.kind === "port");
  const variable = envName(profile, "SERVER_TOKEN");
  const set = findServerToken(invocation, config);
  const isTokenMade = invocation.flags["auth-token"] === AUTO;
  const authToken = isTokenMade ? made : set?.token;
  // Children of this process do not need the token.
  delete process.env[variable];
  const proxy = readProxy(config);
  const hasPeople = proxy !== null || existsSync(resolvePaths(process.env).people);
  const reached = ports.find(({ host }) => !isLoopback(host));
  if (authToken === undefined && !hasPeople && reached) {
    throw new UsageError(`${nameOf(reached)} is not loopback: set ${variable} or --auth-token-file <file> first`);
  }
  if ((tls_cert === null) !== (tls_key === null)) throw new UsageError("--tls-cert and --tls-key are given together");
  const secure = ports.find(({ scheme }) => scheme === "https");
  if (secure && tls_cert === null) throw new UsageError(`${nameOf(secure)} needs --tls-cert and --tls-key`);
  return {
    ...(authToken !== undefined && { authToken }),
    tokenFile: set?.file ?? null,
    isTokenMade,
    proxy,
    ...readPair(config),
    cors: cors.map(requireOrigin),
    hosts: [...allow_host, ...ports.flatMap(({ host }) => namesOf(host))],
  };
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Reads the token from its file. */
export function readToken({ source, path }: SecretFile): string {
  return requireToken(source, readSecret(source, path).trim());
}

export function makeToken(): string {
  return randomBytes(32).toString("base64url");
}

/** The token for a server at `url`: the one from flags, environment or config, else the one that this user's server on that local port made for itself. */
export function readClientToken(invocation: Invocation, config: ResolvedConfig, url: string): string | undefined {
  const { hostname: host, port } = new URL(url);
  const set = findServerToken(invocation, config)?.token;
  if (set !== undefined || !isLoopback(host.replace(/^\[|\]$/g, ""))) return set;
  const { run } = resolvePaths(invocation.process.env);
  const name = orElse(() => readdirSync(run), []).find((candidate) => candidate.endsWith(`-${port}.token`));
  return name === undefined ? undefined : readToken({ source: name, path: join(run, name) });
}

// --- internal ---

/**
 * The master token, for servers and for clients: from the command line, else from the variable, else from the file that the
 * environment or the user's config names.
 */
function findServerToken(
  { profile, flags, process }: Pick<Invocation, "profile" | "flags" | "process">,
  config: ResolvedConfig,
): { readonly token: string; readonly file: SecretFile | null } | undefined {
  const typed = flags["auth-token"] as string | undefined;
  const variable = envName(profile, "SERVER_TOKEN");
  const { auth_token_file: path } = config.values;
  const named = settingOf(config, "auth_token_file");
  const fromFile = () => {
    if (path === null || named === undefined) return undefined;
    const file = { source: named.from, path };
    return { token: readToken(file), file };
  };
  if (named?.layer === "flag") {
    if (typed !== undefined) throw new UsageError("--auth-token and --auth-token-file exclude each other");
    return fromFile();
  }
  if (typed !== undefined) return { token: requireToken("--auth-token", typed), file: null };
  const set = process.env[variable];
  return set === undefined ? fromFile() : { token: requireToken(variable, set), file: null };
}

function readProxy({ values }: ResolvedConfig): ProxyTrust | null {
  const { trust_proxy: networks, user_header: userHeader, proxy_secret_file: file } = values;
  if (networks.length === 0 && userHeader === null && file === null) return null;
  if (networks.length === 0 || userHeader === null || file === null) {
    throw new UsageError("--trust-proxy, --user-header and --proxy-secret-file are given together");
  }
  return {
    networks,
    userHeader,
    secret: readToken({ source: "--proxy-secret-file", path: file }),
  };
}

function readPair({ values: { tls_cert, tls_key } }: ResolvedConfig): Pick<HttpAccess, "tls"> {
  if (tls_cert === null || tls_key === null) return {};
  const [cert, key] = [readNamedFile("--tls-cert", tls_cert), readNamedFile("--tls-key", tls_key)];
  return { tls: { cert, key, files: [tls_cert, tls_key] } };
}

function requireOrigin(text: string): string {
  if (URL.canParse(text) && new URL(text).origin === text) return text;
  throw new UsageError(`--cors takes an origin such as https://app.example.com, not ${JSON.stringify(text)}`);
}

/** The names by which clients may call the interface; for all interfaces, every address of this machine and its host name. */
function namesOf(host: string): string[] {
  if (host !== "0.0.0.0" && host !== "::") return [host];
  const addresses = Object.values(networkInterfaces()).flatMap((rows) => rows?.map((row) => row.address) ?? []);
  return [...addresses, hostname()];
}

/** Refuses a token that no header can carry, which would lock everybody out, and an empty one, which would let everybody in. */
function requireToken(source: string, token: string): string {
  if (token === "") throw new UsageError(`${source}: the token is empty`);
  if (!/^[\x21-\x2b\x2d-\x7e]+$/.test(token)) {
    throw new UsageError(`${source}: a token has visible ASCII characters only, without spaces and commas`);
  }
  return token;
}

/** Reads a secret, and refuses a file that other users can read. Windows has no such modes. */
function readSecret(source: string, path: string): string {
  const text = readNamedFile(source, path);
  if (process.platform !== "win32" && (statSync(path).mode & 0o077) !== 0) {
    throw new UsageError(`${source}: others can read ${path}: chmod 600 it first`);
  }
  return text;
}
