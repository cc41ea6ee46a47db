/** `available_commands_update`: told with the first prompt of a session, and with a later one when they have changed. */
import type { Connection } from "@chimera/ndjson-rpc";
import type { Session } from "@chimera/session";
import type { Core } from "../core.js";

export function createCommandList(connection: Connection) {
  const told = new Map<string, string>();
  /** Each text once: nearly every session is told the same. */
  const texts = new Map<string, string>();
  return {
    async tell(core: Core, session: Session): Promise<void> {
      // A later prompt goes to the model first.
      if (told.has(session.id)) await new Promise((resolve) => setImmediate(resolve));
      const custom = await core.palette.custom(session.cwd);
      const rows = new Map<string, { name: string; description: string; hint?: string }>();
      for (const row of [...core.palette.commands, ...custom]) rows.set(row.name, row);
      const availableCommands = [...rows.values()].map(({ name, description, hint }) => ({
        name,
        description,
        ...(hint !== undefined && { input: { hint } }),
      }));
      const text = JSON.stringify(availableCommands);
      const now = texts.get(text) ?? text;
      texts.set(now, now);
      if (told.get(session.id) === now) return;
      told.set(session.id, now);
      connection.notify("session/update", {
        sessionId: session.id,
        update: { sessionUpdate: "available_commands_update", availableCommands },
      });
    },
    known: (sessionId: string) => told.has(sessionId),
    forget: (sessionId: string) => void told.delete(sessionId),
  };
}
