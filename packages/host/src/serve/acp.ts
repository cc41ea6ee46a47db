/** ACP as this program speaks it: on its own stdin and stdout, or on a channel that a transport brings. */
import { type AcpServer, type Core, type Dialect, serveAcp } from "@chimera/acp-server";
import { streamChannel } from "@chimera/ndjson-rpc";
import { takeOverStdio } from "@chimera/ndjson-rpc/stdio";
import { UsageError } from "../command/usage-error.js";
import type { Log } from "../log/log.js";
import type { AcpPeer, Profile, StartedExtension } from "../profile.js";

const KEY_VARIABLES = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "XAI_API_KEY"];

interface AcpOptions {
  readonly profile: Profile;
  readonly core: () => Promise<Core>;
  readonly extensions: readonly StartedExtension[];
  readonly cwd: string;
  /** A dialect by its name, or `auto`. */
  readonly dialect: string;
  /** Updates a native client can resume from. */
  readonly historyLimit: number;
  readonly log: Log;
}

/** Throws a UsageError for a dialect that the program does not have. */
export function acpServer(options: AcpOptions): (peer: AcpPeer) => AcpServer {
  const { profile, core, extensions, cwd, historyLimit, log } = options;
  const { name, title, version, dialects } = profile;
  const forced = options.dialect === AUTO ? null : requireDialect(dialects, options.dialect);
  return (peer) =>
    serveAcp({
      ...peer,
      onCall: (method) => log.debug("request", { method }),
      sessions: core,
      program: { name, title, version },
      dialects,
      native: dialects[0].name,
      forced,
      extensions: extensions.flatMap(({ protocol }) => protocol ?? []),
      keyVariables: KEY_VARIABLES,
      defaultCwd: cwd,
      historyLimit,
      log: log.warn,
    });
}

export function startAcp(options: AcpOptions): AcpServer {
  const serve = acpServer(options);
  const { input, output } = takeOverStdio();
  return serve({ channel: streamChannel(input, output) });
}

// --- internal ---

const AUTO = "auto";

function requireDialect(dialects: readonly Dialect[], asked: string): string {
  const names = dialects.map(({ name }) => name);
  if (names.includes(asked)) return asked;
  throw new UsageError(`--acp-dialect takes ${[AUTO, ...names].join(", ")}, not ${JSON.stringify(asked)}`);
}
