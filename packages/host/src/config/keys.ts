/** Every setting of the programs. One row gives its flag, variable, key and kind, and says what a project may do with it. */
import { MODES, type Mode } from "@chimera/acp-schema/conversation";
import type { ProviderPackage } from "@chimera/agent/providers";
import type { Durability } from "@chimera/event-store";
import type { Quotas } from "@chimera/session";
import { EFFORT_LEVELS, type EffortLevel } from "../effort.js";
import { LOG_LEVELS, type LogLevel } from "../log/log.js";
import type { EngineSetting } from "./engine-setting.js";
import {
  choice,
  either,
  engines,
  intersect,
  type Kind,
  least,
  list,
  number,
  packages,
  path,
  paths,
  quotas,
  text,
  toggle,
  words,
} from "./kind.js";

export interface ConfigKey<T> {
  readonly kind: Kind<T>;
  readonly default: T;
  readonly help: string;
  /** The flag without dashes. A toggle's flag takes no value and means the opposite of the default. @defaultValue none */
  readonly flag?: string;
  /** The name of its value in the help text. */
  readonly value?: string;
  /** True when the flag may be given several times. */
  readonly repeatable?: boolean;
  /** The printable form of a value that can hold a secret. @defaultValue the value */
  readonly show?: (value: T) => unknown;
  /** `*` stands for the program's name: `*_MODEL` is `OTTER_MODEL`. */
  readonly env: string;
  /** What a project's `.chimera/config.json` may do: nothing, set the value once the person trusts the directory, or narrow it. */
  readonly project: "nothing" | "set" | { readonly narrow: (ours: T, theirs: T) => T };
}

/** The settings by name. In a file, a name with a dot is written inside its group: `"safety": { "read_only": true }`. */
export const CONFIG_KEYS = complete({
  port: key({
    kind: number({ whole: true, max: 65535 }),
    default: 5173,
    value: "<port>",
    project: "set",
    help: "Port to listen on, 0 for any (default 5173)",
  }),
  host: key({ kind: text, default: "127.0.0.1", value: "<host>", help: "Interface to bind (default 127.0.0.1)" }),
  allow_host: key<readonly string[]>({
    kind: list,
    default: [],
    value: "<name>",
    repeatable: true,
    help: "A further name clients may call this server by, as behind a proxy (repeatable)",
  }),
  cors: key<readonly string[]>({
    kind: list,
    default: [],
    value: "<origin>",
    repeatable: true,
    help: "Browser origin to allow (repeatable)",
  }),
  page: key({
    kind: toggle,
    default: true,
    flag: "no-page",
    help: "Serve the API alone, without the page for browsers",
  }),
  auth_token_file: key<string | null>({
    kind: path,
    value: "<file>",
    help: "File with the token every request must carry; nobody else may read it (mode 0600)",
  }),
  trust_proxy: key<readonly string[]>({
    kind: list,
    default: [],
    value: "<network>",
    repeatable: true,
    help: "Address or network of a proxy that names the person who calls; needs --user-header (repeatable)",
  }),
  user_header: key<string | null>({
    kind: text,
    value: "<name>",
    help: "Header in which that proxy names the person, as X-Forwarded-Email",
  }),
  proxy_secret_file: key<string | null>({
    kind: path,
    value: "<file>",
    help: "File with what that proxy sends in X-Proxy-Secret; nobody else may read it (mode 0600)",
  }),
  tls_cert: key<string | null>({
    kind: path,
    value: "<file>",
    help: "Certificate chain (PEM); needs --tls-key",
  }),
  tls_key: key<string | null>({ kind: path, value: "<file>", help: "Its private key (PEM)" }),
  workspace_root: key<readonly string[]>({
    kind: paths,
    default: [],
    value: "<dir>",
    repeatable: true,
    help: "Sessions may only run in this directory and below it (repeatable)",
  }),
  metrics_port: key<number | null>({
    kind: number({ whole: true, max: 65535 }),
    value: "<port>",
    help: "Serve /metrics on this port of 127.0.0.1 too, to anybody there and without a token",
  }),
  limits: key<Quotas>({
    kind: quotas,
    default: {},
    flag: null,
    help: "How much each person may use, and all together",
  }),
  drain_timeout: key({
    kind: number({ max: 600 }),
    default: 0,
    value: "<s>",
    help: "Seconds that running turns get to end when the server is asked to stop (default 0: they are cancelled)",
  }),
  model: key<string | null>({
    kind: text,
    value: "<name>",
    project: "set",
    help: "Model to use (default: by the keys that are set, else offline)",
  }),
  agent: key({
    kind: text,
    default: "build",
    value: "<name>",
    help: "Agent that answers (default build; the agents command lists them)",
  }),
  mode: key<Mode | null>({
    kind: choice(MODES),
    value: "<mode>",
    help: "Mode a session opens in: auto, review or read-only (default: as the safety settings say)",
  }),
  effort: key<EffortLevel>({
    kind: choice(EFFORT_LEVELS),
    default: "default",
    value: "<level>",
    help: "How hard the model thinks: off, low, medium or high (default: as it does by itself)",
  }),
  engine: key({
    kind: text,
    default: "chimera",
    value: "<name>",
    help: "Program that runs turns: chimera, which is built in, or an ACP agent (the engines command lists them)",
  }),
  engine_command: key<readonly string[] | null>({
    kind: words,
    value: "<command>",
    help: "Command line of an ACP agent that runs turns",
  }),
  engines: key<Readonly<Record<string, EngineSetting>>>({
    kind: engines,
    default: {},
    flag: null,
    show: (rows) => Object.fromEntries(Object.entries(rows).map(([name, { command }]) => [name, command])),
    help: "ACP agents that can run turns, by name",
  }),
  providers: key<Readonly<Record<string, ProviderPackage>>>({
    kind: packages,
    default: {},
    flag: null,
    show: (rows) => Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, row.package])),
    help: "AI SDK packages that serve further models, by the name before the slash",
  }),
  allowed_tools: key<readonly string[] | null>({
    kind: list,
    value: "<a,b>",
    project: { narrow: intersect },
    help: "Only these tools",
  }),
  max_steps: key<number | null>({
    kind: number({ whole: true, min: 1 }),
    value: "<n>",
    project: { narrow: least },
    help: "Model steps at which a turn ends (default: none, it asks every 100)",
  }),
  max_cost: key<number | null>({
    kind: number({}),
    value: "<usd>",
    project: { narrow: least },
    help: "Cost at which a session pauses and asks",
  }),
  mcp: key<string | null>({ kind: path, value: "<file>", help: "File of MCP servers to use" }),
  save: key({
    kind: toggle,
    default: true,
    flag: "no-save",
    project: { narrow: (ours, theirs) => ours && theirs },
    help: "Keep new sessions in memory only",
  }),
  session_ttl: key({
    kind: number({}),
    default: 3600,
    value: "<s>",
    help: "Unload idle sessions after this many seconds (default 3600, 0 never)",
  }),
  session_hold: key({
    kind: number({}),
    default: 30,
    value: "<s>",
    help: "Let other processes go on with a session that has been idle for this many seconds (default 30, 0 never)",
  }),
  durability: key<Durability>({
    kind: choice(["turn", "event", "none"]),
    default: "turn",
    value: "<level>",
    help: "turn (default), event or none",
  }),
  store: key<string | null>({
    kind: text,
    value: "<address>",
    show: (address) => address?.replace(/:[^:@/]*@/, ":***@") ?? null,
    help: "Where sessions are kept: file:<dir> (default: the data directory) or postgres://<user>@<host>/<database>",
  }),
  workspace_host: key<string | null>({
    kind: text,
    value: "<name>",
    help: "With a database: servers of one name share their files, and take over from each other (default: the host's)",
  }),
  permission_timeout: key({
    kind: number({}),
    default: 0,
    value: "<s>",
    help: "Deny a permission after this many seconds (default 0: wait)",
  }),
  "safety.read_only": key({
    kind: toggle,
    default: false,
    flag: null,
    project: { narrow: either },
    help: "Refuse writes and commands",
  }),
  "safety.require_approval_for_writes": key({
    kind: toggle,
    default: true,
    flag: null,
    project: { narrow: either },
    help: "Ask before files are written",
  }),
  "safety.require_approval_for_execute": key({
    kind: toggle,
    default: true,
    flag: null,
    project: { narrow: either },
    help: "Ask before commands run",
  }),
  coalesce: key({ kind: toggle, default: true, flag: "no-coalesce", help: "Keep every text delta as its own event" }),
  acp_dialect: key({
    kind: text,
    default: "auto",
    value: "<name>",
    help: "Force a dialect by its name (acp, or that of a program) instead of asking the client",
  }),
  acp_history: key({
    kind: number({ whole: true, min: 1 }),
    default: 1024,
    value: "<n>",
    env: "*_ACP_DEFAULT_HISTORY_SIZE",
    help: "Updates a native client can resume from, per session (default 1024)",
  }),
  log_level: key<LogLevel>({
    kind: choice(LOG_LEVELS),
    default: "info",
    value: "<level>",
    env: "CHIMERA_LOG_LEVEL",
    help: "debug, info, warn, error or silent (default info; warn outside of serve)",
  }),
  log_file: key<string | null>({
    kind: path,
    value: "<file>",
    env: "CHIMERA_LOG_FILE",
    help: "Write the log to this file too; rotated at 10 MiB, five old ones kept",
  }),
});

export type ConfigName = keyof typeof CONFIG_KEYS;

/** The value of every setting, by the name it has in a config file. */
export type ConfigValues = { readonly [Name in ConfigName]: (typeof CONFIG_KEYS)[Name]["default"] };

/** The person's value, narrowed by the project's; unchanged where a project may not narrow it. */
export function narrow<Name extends ConfigName>(
  name: Name,
  ours: ConfigValues[Name],
  theirs: ConfigValues[Name],
): ConfigValues[Name] {
  const { project } = CONFIG_KEYS[name] as unknown as ConfigKey<ConfigValues[Name]>;
  return typeof project === "object" ? project.narrow(ours, theirs) : ours;
}

// --- internal ---

/** A row as written above, without the fields that `complete` derives from its name. */
interface Row<T> extends Omit<ConfigKey<T>, "kind" | "default" | "flag" | "env" | "project"> {
  readonly kind: Kind<NonNullable<T>>;
  /** Null for none. @defaultValue the name, with dashes */
  readonly flag?: string | null;
  /** @defaultValue the name, after the program's */
  readonly env?: string;
  /** @defaultValue nothing */
  readonly project?: ConfigKey<T>["project"];
}

/** A setting that may be unset has no default: its value is null then, which no kind can read. */
type Default<T> = null extends T ? { readonly default?: never } : { readonly default: T };

function key<T>(row: Row<T> & Default<T>): ConfigKey<T> {
  return row as unknown as ConfigKey<T>;
}

function complete<R extends Readonly<Record<string, object>>>(rows: R): R {
  const completed = Object.entries(rows).map(([name, row]) => {
    const { flag, ...rest } = { flag: name.replaceAll("_", "-"), ...(row as Row<unknown>) };
    const env = `*_${name.replaceAll(".", "_").toUpperCase()}`;
    return [name, { env, project: "nothing", default: null, ...rest, ...(flag !== null && { flag }) }];
  });
  return Object.fromEntries(completed);
}
