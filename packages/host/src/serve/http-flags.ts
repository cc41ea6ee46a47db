/** How the HTTP server is reached: flags that mean nothing where none is started. */
import type { Flags } from "../command/flag.js";
import { configFlags } from "../config/flags.js";

export const HTTP_FLAGS: Flags = {
  ...configFlags("port", "host", "allow_host", "cors", "auth_token_file"),
  "auth-token": { type: "string", value: "<token>", help: "The token itself; others on this machine can see it" },
  ...configFlags("tls_cert", "tls_key"),
};
