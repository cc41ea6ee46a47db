/** ACP on this process's stdin and stdout. */
import {
  type AcpServer,
  type Engine,
  ferretDialect,
  otterDialect,
  serveAcp,
  standardDialect,
} from "@chimera/acp-server";
import { takeOverStdio } from "@chimera/ndjson-rpc/stdio";
import type { StartedExtension } from "../extension.js";
import type { Log } from "../log/log.js";
import type { Profile } from "../profile.js";
import type { ServeSettings } from "./settings.js";

const KEY_VARIABLES = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "XAI_API_KEY"];

export function startAcp(options: {
  readonly profile: Profile;
  readonly settings: ServeSettings;
  readonly engine: () => Promise<Engine>;
  readonly extensions: readonly StartedExtension[];
  readonly log: Log;
}): AcpServer {
  const { profile, settings, engine, extensions, log } = options;
  const { input, output } = takeOverStdio();
  return serveAcp({
    input,
    output,
    engine,
    program: { name: profile.name, title: profile.title, version: profile.version },
    dialects: { acp: standardDialect, otter: otterDialect, ferret: ferretDialect },
    native: profile.native,
    forced: settings.forced,
    extensions: extensions.flatMap(({ protocol }) => protocol ?? []),
    keyVariables: KEY_VARIABLES,
    defaultCwd: settings.cwd,
    log: log.warn,
  });
}
