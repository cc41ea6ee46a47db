/** Serves ACP as this program speaks it: on its stdin and stdout, or on the channel of a transport. */

import { lazily } from "@chimera/acp-schema/promises";
import { type AcpServer, type Core, type Dialect, serveAcp } from "@chimera/acp-server";
import { streamChannel } from "@chimera/ndjson-rpc";
import { takeOverStdio } from "@chimera/ndjson-rpc/stdio";
import type { Person, Sessions } from "@chimera/session";
import { UsageError } from "../command/usage-error.js";
import type { Log } from "../log/log.js";
import type { AcpPeer, Profile, StartedExtension } from "../profile.js";
import type { Storage } from "../storage.js";

/** A core whose store other nodes may share. */
interface NodeCore extends Core {
  readonly sessions: Sessions;
  readonly shared: Storage["shared"];
}

interface AcpOptions {
  readonly profile: Profile;
  readonly core: () => Promise<NodeCore>;
  /** The person to whom the sessions of the core belong. @defaultValue the program's own user */
  readonly person?: Person | undefined;
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
  return (peer) => {
    const own = lazily(async () => reachable(await core(), options.person));
    const server = serveAcp({
      ...peer,
      sessions: own.get,
      program: { name, title, version },
      dialects,
      native: dialects[0].name,
      forced,
      extensions: extensions.flatMap(({ protocol }) => protocol ?? []),
      keyVariables: profile.chain.map(({ env }) => env),
      defaultCwd: cwd,
      historyLimit,
      log,
    });
    void server.closed.finally(async () => (await own.opened())?.leave());
    return server;
  };
}

export function startAcp(options: AcpOptions): AcpServer {
  const serve = acpServer(options);
  const { input, output } = takeOverStdio();
  return serve({ channel: streamChannel(input, output) });
}

// --- internal ---

const AUTO = "auto";

/** The core for one connection. When several nodes share a store, it includes their sessions. */
async function reachable(core: NodeCore, person: Person | undefined): Promise<Core & { leave(): void }> {
  if (!core.shared) return { ...core, leave() {} };
  const { sessionsAnywhere } = await import("@chimera/session/anywhere");
  const sessions = sessionsAnywhere(core.sessions, { ask: core.shared.inbox.ask, person });
  return { ...core, sessions, leave: sessions.leave };
}

function requireDialect(dialects: readonly Dialect[], asked: string): string {
  const names = dialects.map(({ name }) => name);
  if (names.includes(asked)) return asked;
  throw new UsageError(`--acp-dialect takes ${[AUTO, ...names].join(", ")}, not ${JSON.stringify(asked)}`);
}
