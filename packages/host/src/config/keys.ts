/** Every setting of the programs: one row says how it is typed, which variable and key it has, and what a project may do. */
import { MODES, type Mode } from "@chimera/acp-schema/conversation";
import type { DialectName } from "@chimera/acp-server";
import type { ProviderPackage } from "@chimera/agent/providers";
import type { Durability } from "@chimera/event-store";
import { EFFORT_LEVELS, type EffortLevel } from "../effort.js";
import { LOG_LEVELS, type LogLevel } from "../log/log.js";
import { choice, type Kind, list, number, packages, path, text, toggle } from "./kind.js";

export interface ConfigKey<T> {
  readonly kind: Kind<T>;
  readonly default: T;
  readonly help: string;
  /** Without dashes. Of a toggle, the flag takes no value and means the opposite of the default. @defaultValue none */
  readonly flag?: string;
  /** What its value is called in the help text. */
  readonly value?: string;
  /** The flag may be given several times. */
  readonly repeatable?: boolean;
  /** What may be printed of a value that can hold a secret. @defaultValue all of it */
  readonly show?: (value: T) => unknown;
  /** `*` stands for the program's name: `*_MODEL` is `OTTER_MODEL`. */
  readonly env: string;
  /** What a project's `.chimera/config.json` may do with it: set it once the person trusts the directory, or take away from it. */
  readonly project: "nothing" | "set" | { readonly narrow: (ours: T, theirs: T) => T };
}

/** By name; one with a dot is written inside its group: `"safety": { "read_only": true }`. */
export const CONFIG_KEYS = {
  port: key({
    kind: number({ whole: true, max: 65535 }),
    default: 5173,
    flag: "port",
    value: "<port>",
    env: "*_PORT",
    project: "set",
    help: "Port to listen on, 0 for any (default 5173)",
  }),
  host: key({
    kind: text,
    default: "127.0.0.1",
    flag: "host",
    value: "<host>",
    env: "*_HOST",
    project: "nothing",
    help: "Interface to bind (default 127.0.0.1)",
  }),
  allow_host: key<readonly string[]>({
    kind: list,
    default: [],
    flag: "allow-host",
    value: "<name>",
    repeatable: true,
    env: "*_ALLOW_HOST",
    project: "nothing",
    help: "A further name clients may call this server by, as behind a proxy (repeatable)",
  }),
  cors: key<readonly string[]>({
    kind: list,
    default: [],
    flag: "cors",
    value: "<origin>",
    repeatable: true,
    env: "*_CORS",
    project: "nothing",
    help: "Browser origin to allow (repeatable)",
  }),
  auth_token_file: key<string | null>({
    kind: path,
    default: null,
    flag: "auth-token-file",
    value: "<file>",
    env: "*_AUTH_TOKEN_FILE",
    project: "nothing",
    help: "File with the token every request must carry; nobody else may read it (mode 0600)",
  }),
  tls_cert: key<string | null>({
    kind: path,
    default: null,
    flag: "tls-cert",
    value: "<file>",
    env: "*_TLS_CERT",
    project: "nothing",
    help: "Certificate chain (PEM); needs --tls-key",
  }),
  tls_key: key<string | null>({
    kind: path,
    default: null,
    flag: "tls-key",
    value: "<file>",
    env: "*_TLS_KEY",
    project: "nothing",
    help: "Its private key (PEM)",
  }),
  model: key<string | null>({
    kind: text,
    default: null,
    flag: "model",
    value: "<name>",
    env: "*_MODEL",
    project: "set",
    help: "Model to use (default: by the keys that are set, else offline)",
  }),
  agent: key({
    kind: text,
    default: "build",
    flag: "agent",
    value: "<name>",
    env: "*_AGENT",
    project: "nothing",
    help: "Agent that answers (default build; the agents command lists them)",
  }),
  mode: key<Mode | null>({
    kind: choice(MODES),
    default: null,
    flag: "mode",
    value: "<mode>",
    env: "*_MODE",
    project: "nothing",
    help: "Mode a session opens in: auto, review or read-only (default: as the safety settings say)",
  }),
  effort: key<EffortLevel>({
    kind: choice(EFFORT_LEVELS),
    default: "default",
    flag: "effort",
    value: "<level>",
    env: "*_EFFORT",
    project: "nothing",
    help: "How hard the model thinks: off, low, medium or high (default: as it does by itself)",
  }),
  providers: key<Readonly<Record<string, ProviderPackage>>>({
    kind: packages,
    default: {},
    show: (rows) => Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, row.package])),
    env: "*_PROVIDERS",
    project: "nothing",
    help: "AI SDK packages that serve further models, by the name before the slash",
  }),
  allowed_tools: key<readonly string[] | null>({
    kind: list,
    default: null,
    flag: "allowed-tools",
    value: "<a,b>",
    env: "*_ALLOWED_TOOLS",
    project: { narrow: intersect },
    help: "Only these tools",
  }),
  max_steps: key<number | null>({
    kind: number({ whole: true, min: 1 }),
    default: null,
    flag: "max-steps",
    value: "<n>",
    env: "*_MAX_STEPS",
    project: { narrow: least },
    help: "Model steps at which a turn ends (default: none, it asks every 100)",
  }),
  max_cost: key<number | null>({
    kind: number({}),
    default: null,
    flag: "max-cost",
    value: "<usd>",
    env: "*_MAX_COST",
    project: { narrow: least },
    help: "Cost at which a session pauses and asks",
  }),
  mcp: key<string | null>({
    kind: path,
    default: null,
    flag: "mcp",
    value: "<file>",
    env: "*_MCP",
    project: "nothing",
    help: "File of MCP servers to use",
  }),
  save: key({
    kind: toggle,
    default: true,
    flag: "no-save",
    env: "*_SAVE",
    project: { narrow: (ours, theirs) => ours && theirs },
    help: "Keep new sessions in memory only",
  }),
  session_ttl: key({
    kind: number({}),
    default: 3600,
    flag: "session-ttl",
    value: "<s>",
    env: "*_SESSION_TTL",
    project: "nothing",
    help: "Unload idle sessions after this many seconds (default 3600, 0 never)",
  }),
  durability: key<Durability>({
    kind: choice(["turn", "event", "none"]),
    default: "turn",
    flag: "durability",
    value: "<level>",
    env: "*_DURABILITY",
    project: "nothing",
    help: "turn (default), event or none",
  }),
  permission_timeout: key({
    kind: number({}),
    default: 0,
    flag: "permission-timeout",
    value: "<s>",
    env: "*_PERMISSION_TIMEOUT",
    project: "nothing",
    help: "Deny a permission after this many seconds (default 0: wait)",
  }),
  "safety.read_only": key({
    kind: toggle,
    default: false,
    env: "*_SAFETY_READ_ONLY",
    project: { narrow: either },
    help: "Refuse writes and commands",
  }),
  "safety.require_approval_for_writes": key({
    kind: toggle,
    default: true,
    env: "*_SAFETY_REQUIRE_APPROVAL_FOR_WRITES",
    project: { narrow: either },
    help: "Ask before files are written",
  }),
  "safety.require_approval_for_execute": key({
    kind: toggle,
    default: true,
    env: "*_SAFETY_REQUIRE_APPROVAL_FOR_EXECUTE",
    project: { narrow: either },
    help: "Ask before commands run",
  }),
  coalesce: key({
    kind: toggle,
    default: true,
    flag: "no-coalesce",
    env: "*_COALESCE",
    project: "nothing",
    help: "Keep every text delta as its own event",
  }),
  acp_dialect: key<DialectName | "auto">({
    kind: choice(["auto", "acp", "otter", "ferret"]),
    default: "auto",
    flag: "acp-dialect",
    value: "<name>",
    env: "*_ACP_DIALECT",
    project: "nothing",
    help: "Force acp, otter or ferret instead of asking the client",
  }),
  acp_history: key({
    kind: number({ whole: true, min: 1 }),
    default: 1024,
    flag: "acp-history",
    value: "<n>",
    env: "*_ACP_DEFAULT_HISTORY_SIZE",
    project: "nothing",
    help: "Updates a native client can resume from, per session (default 1024)",
  }),
  log_level: key<LogLevel>({
    kind: choice(LOG_LEVELS),
    default: "info",
    flag: "log-level",
    value: "<level>",
    env: "CHIMERA_LOG_LEVEL",
    project: "nothing",
    help: "debug, info, warn, error or silent (default info; warn outside of serve)",
  }),
  log_file: key<string | null>({
    kind: path,
    default: null,
    flag: "log-file",
    value: "<file>",
    env: "CHIMERA_LOG_FILE",
    project: "nothing",
    help: "Write the log to this file too; rotated at 10 MiB, five old ones kept",
  }),
};

export type ConfigName = keyof typeof CONFIG_KEYS;

/** The value of every setting, by the name it has in a config file. */
export type ConfigValues = { readonly [Name in ConfigName]: (typeof CONFIG_KEYS)[Name]["default"] };

/** What is left of our value when a project has a say; ours unchanged where it may not narrow. */
export function narrow<Name extends ConfigName>(
  name: Name,
  ours: ConfigValues[Name],
  theirs: ConfigValues[Name],
): ConfigValues[Name] {
  const { project } = CONFIG_KEYS[name] as unknown as ConfigKey<ConfigValues[Name]>;
  return typeof project === "object" ? project.narrow(ours, theirs) : ours;
}

// --- internal ---

/** A default of null means "not set", which no kind can read. */
function key<T>(row: Omit<ConfigKey<T>, "kind"> & { readonly kind: Kind<NonNullable<T>> }): ConfigKey<T> {
  return row as ConfigKey<T>;
}

/** Of two switches that take something away, the one that does. */
function either(ours: boolean, theirs: boolean): boolean {
  return ours || theirs;
}

function least(ours: number | null, theirs: number | null): number | null {
  if (ours === null || theirs === null) return ours ?? theirs;
  return Math.min(ours, theirs);
}

function intersect(ours: readonly string[] | null, theirs: readonly string[] | null): readonly string[] | null {
  if (ours === null || theirs === null) return ours ?? theirs;
  const allowed = new Set(ours.map((name) => name.toLowerCase()));
  return theirs.filter((name) => allowed.has(name.toLowerCase()));
}
