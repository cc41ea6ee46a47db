/** ACP as this program speaks it: on its own stdin and stdout, or on streams that a transport brings. */
import {
  type AcpServer,
  type Core,
  type DialectName,
  nativeDialect,
  serveAcp,
  standardDialect,
} from "@chimera/acp-server";
import { takeOverStdio } from "@chimera/ndjson-rpc/stdio";
import type { Log } from "../log/log.js";
import type { AcpPeer, Profile, StartedExtension } from "../profile.js";

const KEY_VARIABLES = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "XAI_API_KEY"];

interface AcpOptions {
  readonly profile: Profile;
  readonly core: () => Promise<Core>;
  readonly extensions: readonly StartedExtension[];
  readonly cwd: string;
  readonly forced: DialectName | null;
  /** Updates a native client can resume from. */
  readonly historyLimit: number;
  readonly log: Log;
}

export function acpServer(options: AcpOptions): (peer: AcpPeer) => AcpServer {
  const { profile, core, extensions, cwd, forced, historyLimit, log } = options;
  const { name, title, version, native } = profile;
  return (peer) =>
    serveAcp({
      ...peer,
      admit(method, params) {
        log.debug("request", { method });
        peer.admit?.(method, params);
      },
      core,
      program: { name, title, version },
      dialects: {
        acp: standardDialect,
        otter: nativeDialect({ name: "otter", historyLimit }),
        ferret: nativeDialect({ name: "ferret", historyLimit }),
      },
      native,
      forced,
      extensions: extensions.flatMap(({ protocol }) => protocol ?? []),
      keyVariables: KEY_VARIABLES,
      defaultCwd: cwd,
      log: log.warn,
    });
}

export function startAcp(options: AcpOptions): AcpServer {
  return acpServer(options)(takeOverStdio());
}
