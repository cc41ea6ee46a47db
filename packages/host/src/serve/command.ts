/** `serve` and `acp`: their rows. The code behind them is loaded when they run. */
import type { Command, Flags } from "../command/command.js";
import { configFlags } from "../config/flags.js";

/** What every command that runs sessions takes. */
export const SESSION_FLAGS: Flags = {
  cwd: { type: "string", value: "<dir>", help: "Where sessions run (default: the current directory)" },
  ...configFlags("model", "allowed_tools", "max_steps", "max_cost", "mcp", "save"),
  ...configFlags("durability", "permission_timeout", "coalesce", "log_level", "log_file"),
};

const SERVER: Flags = { ...SESSION_FLAGS, ...configFlags("session_ttl", "acp_dialect") };

const HTTP: Flags = {
  ...configFlags("port", "host"),
  "allow-host": {
    type: "string",
    multiple: true,
    value: "<name>",
    help: "A further name clients may call this server by, as behind a proxy (repeatable)",
  },
  cors: { type: "string", multiple: true, value: "<origin>", help: "Browser origin to allow (repeatable)" },
  "auth-token-file": { type: "string", value: "<file>", help: "File with the token every request must carry" },
  "auth-token": { type: "string", value: "<token>", help: "The token itself; others on this machine can see it" },
  "tls-cert": { type: "string", value: "<file>", help: "Certificate chain (PEM); needs --tls-key" },
  "tls-key": { type: "string", value: "<file>", help: "Its private key (PEM)" },
};

export function serveCommands(name: string): Command[] {
  return [
    {
      name: "serve",
      summary: "Run the agent as a server",
      flags: {
        ...HTTP,
        acp: { type: "boolean", help: "Speak the Agent Client Protocol on stdin and stdout" },
        http: { type: "boolean", help: "Serve HTTP; with --acp, both on the same sessions" },
        ...SERVER,
      },
      example: `${name} serve --port 5173`,
      load: async () => (await import("./serve.js")).serve,
    },
    {
      name: "acp",
      summary: "The same as serve --acp, for editors",
      flags: SERVER,
      example: `${name} acp --model offline`,
      load: async () => {
        const { serve } = await import("./serve.js");
        return (invocation) => serve({ ...invocation, flags: { ...invocation.flags, acp: true } });
      },
    },
  ];
}
