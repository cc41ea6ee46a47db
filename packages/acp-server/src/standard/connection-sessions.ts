/** The sessions of one connection: which it has open, how their settings look to it, and the MCP servers it lent them. */
import type { ClientCapabilities } from "@chimera/acp-schema";
import type { McpServer, Session } from "@chimera/session";
import type { Choice, Engine } from "../context.js";
import type { DialectContext } from "../dialect.js";
import { createCommandList } from "./command-list.js";
import { configOptions, modeState, type SettingsShown } from "./settings.js";
import { standardView } from "./view.js";

export interface Found {
  readonly engine: Engine;
  readonly session: Session;
  readonly shown: SettingsShown;
}

export function createConnectionSessions(context: DialectContext, capabilities: ClientCapabilities) {
  const { connection, open, origin } = context;
  const booleans = capabilities.session?.configOptions?.boolean != null;
  const commands = createCommandList(connection);
  const shownOf = new WeakMap<Session, SettingsShown>();
  const servers = new Map<string, readonly McpServer[]>();

  const shownWith = (engine: Engine, session: Session, agents: readonly Choice[]): SettingsShown => {
    const options = [engine, ...context.extensions].flatMap((part) => part.options ?? []);
    const shown = { models: engine.models(), agents, options, booleans };
    shownOf.set(session, shown);
    return shown;
  };
  const shownFor = async (engine: Engine, session: Session) =>
    shownWith(engine, session, await engine.agents(session.cwd));
  /** Updates of a session, from its head or from after a record, for as long as it is open here. */
  const show = (session: Session, shown: SettingsShown, from?: number) =>
    open.open(session, (opened) => standardView(opened, { connection, capabilities, shown, origin }), {
      ...(from !== undefined && { from }),
      again(reloaded) {
        shownOf.set(reloaded, shown);
        show(reloaded, shown);
        // It gets its servers back, and the client learns what its settings are now.
        reloaded.useMcpServers(servers.get(reloaded.id) ?? []);
        const update = { sessionUpdate: "config_option_update", configOptions: configOptions(reloaded, shown) };
        connection.notify("session/update", { sessionId: reloaded.id, update });
      },
    });
  const find = async (id: string): Promise<Found> => {
    const engine = await context.engine();
    const session = await engine.sessions.load(id);
    return { engine, session, shown: shownOf.get(session) ?? (await shownFor(engine, session)) };
  };

  return {
    commands,
    shownWith,
    shownFor,
    show,
    /** A session, brought to life when it is only stored; nothing of it is shown yet. */
    find,
    /** The same, shown from its head unless it is open here already. */
    async open(id: string): Promise<Found> {
      const found = await find(id);
      show(found.session, found.shown);
      return found;
    },
    settingsOf: (session: Session, shown: SettingsShown) => ({
      modes: modeState(session),
      configOptions: configOptions(session, shown),
    }),
    lend(session: Session, list: readonly McpServer[]): void {
      servers.set(session.id, list);
      session.useMcpServers(list);
    },
    /** Unloads a session and drops what is kept of it; its last updates go out first. */
    async close(sessionId: string): Promise<Engine> {
      await open.arrived(sessionId);
      const engine = await context.engine();
      await engine.sessions.close(sessionId);
      await open.finish(sessionId);
      commands.forget(sessionId);
      servers.delete(sessionId);
      return engine;
    },
  };
}
