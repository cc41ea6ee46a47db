/** Who may reach the HTTP server and how: token, TLS pair, origins and host names, all checked before anything is bound. */
import { hostname, networkInterfaces } from "node:os";
import type { Invocation } from "../command/command.js";
import { UsageError } from "../command/usage-error.js";
import { readNamedFile } from "../config/named-file.js";
import type { ResolvedConfig } from "../config/resolve.js";
import { envName } from "../profile.js";
import { readServerToken } from "./server-token.js";

export interface HttpAccess {
  readonly authToken?: string;
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly cors: readonly string[];
  readonly hosts: readonly string[];
}

export function readHttpAccess(invocation: Invocation, config: ResolvedConfig): HttpAccess {
  const { profile, process } = invocation;
  const { host, allow_host, cors, tls_cert, tls_key } = config.values;
  const variable = envName(profile, "SERVER_TOKEN");
  const authToken = readServerToken(invocation, config);
  // Nothing this process starts needs it.
  delete process.env[variable];
  if (authToken === undefined && !isLoopback(host)) {
    throw new UsageError(`--host ${host} is not loopback: set ${variable} or --auth-token-file <file> first`);
  }
  if ((tls_cert === null) !== (tls_key === null)) throw new UsageError("--tls-cert and --tls-key are given together");
  return {
    ...(authToken !== undefined && { authToken }),
    ...(tls_cert !== null &&
      tls_key !== null && {
        tls: { cert: readNamedFile("--tls-cert", tls_cert), key: readNamedFile("--tls-key", tls_key) },
      }),
    cors: cors.map(requireOrigin),
    hosts: [...allow_host, ...namesOf(host)],
  };
}

// --- internal ---

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
