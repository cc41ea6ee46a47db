/** What a connection's client is shown of the settings and the commands of its sessions. */
import type { ClientCapabilities } from "@chimera/acp-schema";
import type { Session } from "@chimera/session";
import type { Choice, Core } from "../core.js";
import type { DialectContext } from "../dialect.js";
import { commandsUpdate } from "./frames.js";
import { configOptions, modeState, plainModes, type SettingsShown } from "./settings.js";
import { standardView } from "./view.js";

/** Keeps the settings that this connection's client is shown, by session id. The choices depend on the directory and change over time. */
export function createShows(
  context: DialectContext,
  capabilities: ClientCapabilities,
  onCommands: (session: Session) => void,
) {
  const { connection, origin, extensions, onNotice } = context;
  const booleans = capabilities.session?.configOptions?.boolean != null;
  const known = new Map<string, SettingsShown>();
  const chosen = new Set<string>();
  const modes = extensions.find((extension) => extension.modes)?.modes ?? plainModes;
  const set = (core: Core, { id }: Session, agents: readonly Choice[]): SettingsShown => {
    chosen.add(core.sessions.defaults.model);
    const options = [core, ...extensions].flatMap((part) => part.options ?? []);
    const shown = { models: core.models(), chosen, modes, agents, options, booleans };
    known.set(id, shown);
    return shown;
  };
  return {
    set,
    /** The choices of a session, which are looked up if they are not known yet or with `refresh`. */
    settings: async (core: Core, session: Session, refresh = false): Promise<SettingsShown> =>
      (!refresh && known.get(session.id)) || set(core, session, await core.agents(session.cwd)),
    settingsOf: (session: Session) => ({
      modes: modeState(session, known.get(session.id)!),
      configOptions: configOptions(session, known.get(session.id)!),
    }),
    view: ({ sessions }: Core, session: Session) => {
      // The view outlives the loaded session and must not keep it in memory.
      const { id } = session;
      const shown = () => known.get(id)!;
      return standardView(session, { connection, capabilities, sessions, shown, origin, onNotice, onCommands });
    },
    forget: (id: string) => void known.delete(id),
  };
}

/** Sends `available_commands_update` when a session is opened, and with a prompt if the commands have changed since. */
export function createCommandList({ connection, core }: DialectContext) {
  const shown = new Map<string, string>();
  /** Keeps each text once, because nearly all sessions have the same commands. */
  const texts = new Map<string, string>();
  return {
    async show({ id: sessionId, cwd, conversation }: Session): Promise<void> {
      const { palette } = await core();
      const custom = await palette.custom(cwd);
      // An ACP client shows one session per thread, so it cannot follow a command that opens another session.
      const ours = [...palette.commands.filter(({ opensSession }) => !opensSession), ...custom];
      // An engine's command must not replace ours of the same name: `/undo` is about our log.
      const engine = conversation.facts.engineCommands.filter(({ name }) => !ours.some((one) => one.name === name));
      const key = JSON.stringify([custom, engine]);
      const known = texts.get(key) ?? key;
      texts.set(key, known);
      if (shown.get(sessionId) === known) return;
      shown.set(sessionId, known);
      connection.notify("session/update", { sessionId, update: commandsUpdate([...ours, ...engine]) });
    },
    isShown: (sessionId: string) => shown.has(sessionId),
    forget: (sessionId: string) => void shown.delete(sessionId),
  };
}
