/** Commands about the setup: models, tools, agents, trust, commands, init, config, doctor, audit, completions and others. */
import { type Command, configFlags, type Flags } from "@chimera/host";
import { type Action, actionsOf, loaded } from "../actions.js";
import { JSON_FLAG, NO_COLOR_FLAG } from "../flags.js";

const CWD: Flags = { cwd: { type: "string", value: "<dir>", help: "The project's directory (default: this one)" } };

export function setupCommands(name: string): Command[] {
  return [
    {
      name: "models",
      summary: "List models that fit the keys that are set",
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
      summary: "List the directories whose files may choose a model and start MCP servers, or revoke that for one",
      operands: "[list | revoke [<dir>]]",
      flags: { ...CWD, ...JSON_FLAG },
      example: `${name} trust revoke`,
      ...actionsOf(TRUST, "list"),
    },
    {
      name: "engines",
      summary: "List the programs that can run turns, probe one, or log in to one",
      operands: "[list | probe <name> | login <name> [<way>]]",
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
      summary: "Write a first configuration, check model and key, and show how to set up an editor",
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
      summary: "Check the installation and the setup",
      flags: {
        ...CWD,
        server: { type: "boolean", help: "Also check people, the certificate and running servers" },
        ...configFlags("model", "port", "host", "store", "tls_cert"),
        ...NO_COLOR_FLAG,
        ...JSON_FLAG,
      },
      example: `${name} doctor`,
      load: loaded(async () => (await import("../setup/doctor.js")).examine),
    },
    {
      name: "audit",
      summary: "Check that nobody has changed the audit log of permission decisions",
      operands: "[verify] [<file>]",
      flags: { ...configFlags("store"), ...JSON_FLAG },
      example: `${name} audit verify`,
      ...actionsOf(AUDIT, "verify"),
    },
    {
      name: "backup",
      summary: "Write all stored data to one archive, also while servers run",
      operands: "<file>",
      maxOperands: 1,
      flags: { ...configFlags("store"), ...JSON_FLAG },
      example: `${name} backup chimera.tar.gz`,
      load: loaded(async () => (await import("../setup/backup.js")).backUp),
    },
    {
      name: "restore",
      summary: "Restore a backup into an empty data directory",
      operands: "<file>",
      maxOperands: 1,
      flags: { ...configFlags("store"), ...JSON_FLAG },
      example: `${name} restore chimera.tar.gz`,
      load: loaded(async () => (await import("../setup/backup.js")).restore),
    },
    {
      name: "token",
      summary: "Give people their own tokens, list them, or revoke one",
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
