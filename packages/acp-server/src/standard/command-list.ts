/** `available_commands_update`: told with the first prompt of a session, and with a later one when they have changed. */
import type { Connection } from "@chimera/ndjson-rpc";
import type { Session } from "@chimera/session";
import type { Core } from "../core.js";
import { commandsUpdate } from "../project/acp.js";

export function createCommandList(connection: Connection) {
  const told = new Map<string, string>();
  /** Each text once: nearly every session is told the same. */
  const texts = new Map<string, string>();
  return {
    async tell(core: Core, session: Session): Promise<void> {
      // A later prompt goes to the model first.
      if (told.has(session.id)) await new Promise((resolve) => setImmediate(resolve));
      const custom = await core.palette.custom(session.cwd);
      const update = commandsUpdate([...core.palette.commands, ...custom]);
      const text = JSON.stringify(update);
      const now = texts.get(text) ?? text;
      texts.set(now, now);
      if (told.get(session.id) === now) return;
      told.set(session.id, now);
      connection.notify("session/update", { sessionId: session.id, update });
    },
    known: (sessionId: string) => told.has(sessionId),
    forget: (sessionId: string) => void told.delete(sessionId),
  };
}
