import type { Flags, FlagValues } from "../command/flag.js";
import { UsageError } from "../command/usage-error.js";
import { configFlags } from "../config/flags.js";
import type { Config } from "../config/read-config.js";
import type { Profile } from "../profile.js";
import type { HttpAddress, ListenAddress, PortAddress } from "./listen-addresses.js";

export type ServeSettings = Readonly<Awaited<ReturnType<typeof readServeSettings>>>;

/** @param fd the socket that a service manager passed, if any. */
export async function readServeSettings(profile: Profile, flags: FlagValues, config: Config, fd?: number) {
  const { values, cwd } = config;
  const page = values.page ? profile.page : undefined;
  if (flags["open"] === true && !page) throw new UsageError("--open shows the page, and this server has none");
  const addresses = await addressesOf(profile, flags, config, fd);
  const http = addresses.filter((address): address is HttpAddress => address.kind !== "stdio");
  if (flags["open"] === true && http.length > 0 && !http.some(({ kind }) => kind === "port"))
    throw new UsageError("--open shows the page in a browser, which needs a port: add --listen http://127.0.0.1:5173");
  return {
    /** Whether to serve ACP on stdin and stdout. */
    acp: http.length < addresses.length,
    /** All other addresses. */
    http,
    cwd,
    page,
    open: flags["open"] === true,
    metricsPort: values.metrics_port,
    requestLog: values.log_level,
    dialect: values.acp_dialect,
    historyLimit: values.acp_history,
  };
}

export const LISTEN_FLAG: Flags = {
  listen: {
    type: "string",
    value: "<address>",
    multiple: true,
    help: "Listen on stdio:, http://host:port, https://host:port or unix:/path, each on the same sessions (repeatable)",
  },
};

/** The flags of the HTTP server, which have no effect when none is started. */
export const HTTP_FLAGS: Flags = {
  ...configFlags("port", "host", "allow_host", "cors", "auth_token_file"),
  "auth-token": {
    type: "string",
    value: "<token>",
    help: "The token itself, which others can see while the program starts; auto makes one in a file of mode 0600",
  },
  open: { type: "boolean", help: "Open the page in a browser" },
  ...configFlags(
    "page",
    "trust_proxy",
    "user_header",
    "proxy_secret_file",
    "tls_cert",
    "tls_key",
    "metrics_port",
    "drain_timeout",
  ),
};

// --- internal ---

/** `--acp` is short for `--listen stdio:`, `--http` for `--listen http://<host>:<port>`, https with a certificate. */
async function addressesOf(
  profile: Profile,
  flags: FlagValues,
  { values }: Config,
  fd: number | undefined,
): Promise<readonly ListenAddress[]> {
  const named = (flags["listen"] as readonly string[] | undefined) ?? [];
  const isOther = named.length > 0 && flags["http"] !== true;
  for (const name of ["port", "host"]) {
    if (isOther && flags[name] !== undefined)
      throw new UsageError(`--${name} goes with --http; beside --listen, name the address: --listen http://host:port`);
  }
  const byDefault = named.length === 0 ? profile.defaultTransport : null;
  const acp = flags["acp"] === true || (byDefault === "acp" && flags["http"] !== true);
  const http = flags["http"] === true || (isOther ? fd !== undefined : !acp);
  const scheme = values.tls_cert === null ? "http" : "https";
  const short: PortAddress = {
    kind: "port",
    scheme,
    host: values.host,
    port: values.port,
    ...(fd !== undefined && { fd }),
  };
  const addresses: ListenAddress[] = [...(acp ? [{ kind: "stdio" } as const] : []), ...(http ? [short] : [])];
  return named.length === 0 ? addresses : (await import("./listen-addresses.js")).readListenAddresses(addresses, named);
}
