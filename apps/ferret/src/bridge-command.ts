/** `bridge`: runs one session, new or by its id, with a remote console as its only client, until a signal or the remote ends it. */
import { withResolvers } from "@chimera/acp-schema/promises";
import type { BridgeExit } from "@chimera/bridge";
import { type Invocation, openCore, UsageError, untilEnd } from "@chimera/host";
import { createBridgeExtension } from "./bridge.js";

/** Exit codes: 0 stopped by a signal; 1 the bridge cannot start, or the remote is not a receiver; 2 refused token or usage error. */
export async function runBridge(invocation: Invocation): Promise<number> {
  const { profile, process, flags, operands } = invocation;
  if (flags["remote-url"] === undefined) throw new UsageError("needs --remote-url <url>");
  const say = (text: string) => void process.stderr.write(`[${profile.name}] ${text}\n`);

  const { promise: ended, resolve: onExit } = withResolvers<BridgeExit>();
  const own = createBridgeExtension({
    onExit,
    report: (message, fields = {}) =>
      say([message, ...Object.entries(fields).map(([key, value]) => `${key}=${value}`)].join(" ")),
  });
  const extensions = profile.extensions.map((extension) => (extension.name === own.name ? own : extension));
  const { core, config, log } = await openCore({ ...invocation, profile: { ...profile, extensions } });

  const [id] = operands;
  try {
    const session = id === undefined ? await core.sessions.create({ cwd: config.cwd }) : await core.sessions.load(id);
    say(`session ${session.id} (stop with Ctrl-C)`);
    await Promise.race([ended, untilEnd(process, log)]);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    await core.close();
    return 1;
  }
  await core.close();
  const { code, message } = await ended;
  if (code !== 0) say(`bridge ended: ${message}`);
  return code;
}
