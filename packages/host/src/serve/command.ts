/** `serve` and `acp`: their rows. The code behind them is loaded when they run. */
import type { Command, Flags } from "../command/command.js";

const COMMON: Flags = {
  cwd: { type: "string", value: "<dir>", help: "Where sessions run (default: the current directory)" },
  model: { type: "string", value: "<name>", help: "Model to use (default: by the keys that are set, else offline)" },
  "allowed-tools": { type: "string", value: "<a,b>", help: "Only these tools" },
  "max-steps": { type: "string", value: "<n>", help: "Model steps per turn (default 50)" },
  "max-cost": { type: "string", value: "<usd>", help: "Cost at which a session pauses and asks" },
  "session-ttl": {
    type: "string",
    value: "<s>",
    help: "Unload idle sessions after this many seconds (default 3600, 0 never)",
  },
  durability: { type: "string", value: "<level>", help: "turn (default), event or none" },
  "permission-timeout": {
    type: "string",
    value: "<s>",
    help: "Deny a permission after this many seconds (default 0: wait)",
  },
  "no-coalesce": { type: "boolean", help: "Keep every text delta as its own event" },
  "acp-dialect": { type: "string", value: "<name>", help: "Force acp, otter or ferret instead of asking the client" },
  "log-level": { type: "string", value: "<level>", help: "debug, info, warn, error or silent (default info)" },
};

const HTTP: Flags = {
  port: { type: "string", value: "<port>", help: "Port to listen on (default 5173)" },
  host: { type: "string", value: "<host>", help: "Interface to bind (default 127.0.0.1)" },
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
        ...COMMON,
      },
      example: `${name} serve --port 5173`,
      load: async () => (await import("./serve.js")).serve,
    },
    {
      name: "acp",
      summary: "The same as serve --acp, for editors",
      flags: COMMON,
      example: `${name} acp --model offline`,
      load: async () => {
        const { serve } = await import("./serve.js");
        return (invocation) => serve({ ...invocation, flags: { ...invocation.flags, acp: true } });
      },
    },
  ];
}
