import type { Flags, FlagValues } from "../command/flag.js";
import { UsageError } from "../command/usage-error.js";
import { configFlags } from "../config/flags.js";
import type { Config } from "../config/read-config.js";
import type { Profile } from "../profile.js";

export type ServeSettings = Readonly<ReturnType<typeof readServeSettings>>;

/** @param fd the socket that a service manager handed over, where it did. */
export function readServeSettings(profile: Profile, flags: FlagValues, { values, cwd }: Config, fd?: number) {
  const page = values.page ? profile.page : undefined;
  if (flags["open"] === true && !page) throw new UsageError("--open shows the page, and this server has none");
  const acp = flags["acp"] === true || (profile.defaultTransport === "acp" && flags["http"] !== true);
  return {
    acp,
    http: flags["http"] === true || !acp,
    host: values.host,
    port: values.port,
    fd,
    cwd,
    page,
    open: flags["open"] === true,
    metricsPort: values.metrics_port,
    requestLog: values.log_level,
    dialect: values.acp_dialect,
    historyLimit: values.acp_history,
  };
}

/** How the HTTP server is reached: flags that mean nothing where none is started. */
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
