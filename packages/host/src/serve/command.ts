/** The rows of the commands `serve` and `acp`. */
import type { Command, Invocation, RunCommand } from "../command/command.js";
import type { Flag, Flags } from "../command/flag.js";
import { UsageError } from "../command/usage-error.js";
import { configFlags } from "../config/flags.js";
import { serve } from "./serve.js";
import { HTTP_FLAGS, LISTEN_FLAG } from "./settings.js";

/** The flags of every command that runs sessions. */
export const SESSION_FLAGS: Flags = {
  cwd: { type: "string", value: "<dir>", help: "Where sessions run (default: the current directory)" },
  trust: { type: "boolean", help: "Trust that directory for good: its files may choose a model and start MCP servers" },
  ...configFlags(
    "workspace_root",
    "model",
    "engine",
    "engine_command",
    "agent",
    "mode",
    "effort",
    "allowed_tools",
    "max_steps",
    "max_cost",
    "mcp",
    "save",
  ),
  ...configFlags("store", "workspace_host", "durability", "permission_timeout", "coalesce", "log_level", "log_file"),
};

const SERVER: Flags = { ...SESSION_FLAGS, ...configFlags("session_ttl", "session_hold", "acp_dialect", "acp_history") };

/** Flags that only some actions take, with those actions. */
const ACTION_FLAGS: Readonly<Record<string, Flag & { readonly actions: readonly string[] }>> = {
  json: { type: "boolean", actions: ["status", "stop"], help: "With status or stop: answer in JSON" },
  all: { type: "boolean", actions: ["stop"], help: "With stop: every server" },
  "serve-timeout": {
    type: "string",
    value: "<s>",
    actions: ["stop"],
    help: "With stop: seconds from the request to end to the kill (default 10)",
  },
};

/** Defaults of `acp` that differ from those of `serve`: decision 0037. */
const ACP_DEFAULTS = { port: 8000 } as const;

export function serveCommands(name: string): Command[] {
  return [
    {
      name: "serve",
      summary: "Run the agent as a server; list or stop the ones that run",
      operands: "[status | stop]",
      maxOperands: 1,
      flags: {
        ...LISTEN_FLAG,
        ...HTTP_FLAGS,
        acp: { type: "boolean", help: "Short for --listen stdio: the Agent Client Protocol on stdin and stdout" },
        http: {
          type: "boolean",
          help: "Short for --listen http://<host>:<port>; with --acp, both on the same sessions",
        },
        ...SERVER,
        ...ACTION_FLAGS,
      },
      startsSessions: true,
      example: `${name} serve --http --port 5173`,
      load: async () => (invocation) => actionOf(invocation)(invocation),
    },
    {
      name: "acp",
      summary: "The same as serve --acp, for editors; with --http, HTTP instead; with --connect, for a running server",
      operands: "[<url>]",
      maxOperands: 1,
      flags: {
        ...LISTEN_FLAG,
        ...HTTP_FLAGS,
        port: { type: "string", value: "<port>", help: `Port to listen on, 0 for any (default ${ACP_DEFAULTS.port})` },
        http: { type: "boolean", help: "Serve HTTP in place of stdin and stdout" },
        connect: {
          type: "boolean",
          help: "Speak for the server at <url> (or unix:/path), or for the one that runs here",
        },
        "token-file": {
          type: "string",
          value: "<file>",
          help: "With --connect: the server's token",
        },
        ...SERVER,
      },
      startsSessions: true,
      example: `${name} acp --model offline`,
      load:
        async () =>
        async ({ flags, ...rest }) => {
          if (flags["connect"] === true) {
            const file = flags["token-file"];
            const given = file === undefined ? flags : { ...flags, "auth-token-file": file };
            return (await import("./connect.js")).connectAcp({ ...rest, flags: given });
          }
          if (rest.operands.length > 0) throw new UsageError("an address goes with --connect");
          return serve({ ...rest, flags: { ...flags, acp: flags["http"] !== true } }, ACP_DEFAULTS);
        },
    },
  ];
}

// --- internal ---

const ACTIONS: Readonly<Record<string, RunCommand>> = {
  status: async (invocation) => (await import("./stop.js")).status(invocation),
  stop: async (invocation) => (await import("./stop.js")).stop(invocation),
};

function actionOf({ operands, flags }: Invocation): RunCommand {
  const [action] = operands;
  if (action !== undefined && !Object.hasOwn(ACTIONS, action)) {
    throw new UsageError(`unknown action ${JSON.stringify(action)}; status or stop`);
  }
  for (const [name, { actions }] of Object.entries(ACTION_FLAGS)) {
    if (flags[name] !== undefined && !actions.includes(action ?? "")) {
      throw new UsageError(`--${name} belongs to serve ${actions.join(" and serve ")}`);
    }
  }
  return (action === undefined ? undefined : ACTIONS[action]) ?? serve;
}
