/** What there is and how it is set up: models, tools, agents, trust, commands, init, config, doctor, audit, completions. */
import { type Command, configFlags, type Flags } from "@chimera/host";
import { type Action, actionsOf, loaded } from "../actions.js";
import { JSON_FLAG, NO_COLOR_FLAG } from "../flags.js";

const CWD: Flags = { cwd: { type: "string", value: "<dir>", help: "As seen from there (default: this directory)" } };

export function setupCommands(name: string): Command[] {
  return [
    {
      name: "models",
      summary: "List the models worth choosing with the keys that are set",
      flags: {
        ...configFlags("model"),
        format: { type: "string", value: "<format>", help: "text or json" },
        ...JSON_FLAG,
      },
      example: `${name} models`,
      load: loaded(async () => (await import("../setup/lists.js")).listModels),
    },
    {
      name: "tools",
      summary: "List the agent's tools",
      flags: JSON_FLAG,
      example: `${name} tools --json`,
      load: loaded(async () => (await import("../setup/lists.js")).listTools),
    },
    {
      name: "agents",
      summary: "List agents, or show one",
      operands: "[list | show <name>]",
      flags: { ...CWD, ...JSON_FLAG },
      example: `${name} agents show plan`,
      ...actionsOf(AGENTS, "list"),
    },
    {
      name: "trust",
      summary: "List the directories whose files may choose a model and start MCP servers, or take that back from one",
      operands: "[list | revoke [<dir>]]",
      flags: { ...CWD, ...JSON_FLAG },
      example: `${name} trust revoke`,
      ...actionsOf(TRUST, "list"),
    },
    {
      name: "engines",
      summary: "List the programs that can run turns, see what one can do, or log in to it",
      operands: "[list | probe <name> | login <name> [way]]",
      flags: { ...CWD, ...configFlags("engine_command"), ...JSON_FLAG },
      example: `${name} engines probe codex`,
      ...actionsOf(ENGINES, "list"),
    },
    {
      name: "commands",
      summary: "List the slash commands of a session here",
      flags: { ...CWD, ...JSON_FLAG },
      example: `${name} commands`,
      load: loaded(async () => (await import("../setup/lists.js")).listCommands),
    },
    {
      name: "init",
      summary: "Write a first configuration, check model and key, and show how an editor starts it",
      flags: {},
      example: `${name} init`,
      load: loaded(async () => (await import("../setup/config.js")).writeFirstConfig),
    },
    {
      name: "config",
      summary: "Show every setting and where it came from",
      flags: { ...CWD, ...JSON_FLAG },
      example: `${name} config`,
      load: loaded(async () => (await import("../setup/config.js")).showConfig),
    },
    {
      name: "doctor",
      summary: "Check that everything is in place",
      flags: {
        ...CWD,
        server: { type: "boolean", help: "Look at people, the certificate and running servers too" },
        ...configFlags("model", "port", "host", "store", "tls_cert"),
        ...NO_COLOR_FLAG,
        ...JSON_FLAG,
      },
      example: `${name} doctor`,
      load: loaded(async () => (await import("../setup/doctor.js")).examine),
    },
    {
      name: "audit",
      summary: "Check that the record of permission decisions is unchanged",
      operands: "[verify] [<file>]",
      flags: { ...configFlags("store"), ...JSON_FLAG },
      example: `${name} audit verify`,
      ...actionsOf(AUDIT, "verify"),
    },
    {
      name: "backup",
      summary: "Write everything that is kept to one archive, also while servers run",
      operands: "<file>",
      maxOperands: 1,
      flags: { ...configFlags("store"), ...JSON_FLAG },
      example: `${name} backup chimera.tar.gz`,
      load: loaded(async () => (await import("../setup/backup.js")).backUp),
    },
    {
      name: "restore",
      summary: "Bring a backup back into an empty data directory",
      operands: "<file>",
      maxOperands: 1,
      flags: { ...configFlags("store"), ...JSON_FLAG },
      example: `${name} restore chimera.tar.gz`,
      load: loaded(async () => (await import("../setup/backup.js")).restore),
    },
    {
      name: "token",
      summary: "Give people tokens of their own, list them, or revoke one",
      operands: "[list | add <name> | revoke <name>]",
      flags: {
        role: { type: "string", value: "<role>", help: "viewer, user (default) or admin" },
        ...configFlags("store"),
        ...JSON_FLAG,
      },
      example: `${name} token add ann@example.com --role user`,
      ...actionsOf(TOKENS, "list"),
    },
    {
      name: "completions",
      summary: "Print a completion script for your shell",
      operands: "[bash | zsh | fish]",
      maxOperands: 1,
      flags: {},
      example: `${name} completions bash > ~/.local/share/bash-completion/completions/${name}`,
      load: loaded(async () => (await import("../setup/completions.js")).printCompletions),
    },
  ];
}

// --- internal ---

const ENGINES: Readonly<Record<string, Action>> = {
  list: { load: async () => (await import("../setup/engines.js")).listEngines },
  probe: { maxOperands: 1, load: async () => (await import("../setup/engines.js")).probeEngine },
  login: { maxOperands: 2, load: async () => (await import("../setup/engines.js")).loginEngine },
};

const TRUST: Readonly<Record<string, Action>> = {
  list: { load: async () => (await import("../setup/access.js")).listTrusted },
  revoke: { maxOperands: 1, load: async () => (await import("../setup/access.js")).revokeTrust },
};

const AGENTS: Readonly<Record<string, Action>> = {
  list: { load: async () => (await import("../setup/lists.js")).listAgents },
  show: { maxOperands: 1, load: async () => (await import("../setup/lists.js")).showAgent },
};

const TOKENS: Readonly<Record<string, Action>> = {
  list: { load: async () => (await import("../setup/access.js")).listTokens },
  add: { maxOperands: 1, load: async () => (await import("../setup/access.js")).addToken },
  revoke: { maxOperands: 1, load: async () => (await import("../setup/access.js")).revokeToken },
};

const AUDIT: Readonly<Record<string, Action>> = {
  verify: { maxOperands: 1, load: async () => (await import("../setup/access.js")).verifyAuditLog },
};
