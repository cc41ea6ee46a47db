/** What a standard ACP client is shown of its sessions: their records, their settings and their commands. */
import type { ClientCapabilities, SessionUpdate } from "@chimera/acp-schema";
import { isLost, type SessionEvent } from "@chimera/acp-schema/events";
import type { Entry } from "@chimera/event-store";
import type { Connection } from "@chimera/ndjson-rpc";
import type { ReachableSessions, Session } from "@chimera/session";
import type { Choice, Core } from "../core.js";
import type { DialectContext } from "../dialect.js";
import type { SessionView } from "../session-view.js";
import { clientEffects } from "./client-effects.js";
import { commandsUpdate, createFrames } from "./frames.js";
import { createElicitations, createPermissionPrompts } from "./questions.js";
import { readBefore } from "./replay.js";
import { configOptions, modeState, plainModes, type SettingsShown } from "./settings.js";

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

// --- internal ---

const CONFIG_RECORDS = new Set([
  "mode_changed",
  "model_changed",
  "config_changed",
  "approval_changed",
  "options_changed",
]);
const MODE_RECORDS = new Set(["mode_changed", "config_changed", "approval_changed"]);
const FOLLOWED_RECORDS = new Set([
  "permission_request",
  "permission_resolved",
  "question_asked",
  "question_answered",
  "notice",
  "sandbox_violation",
]);
/** The stop reasons that v1 knows. An error is not among them and becomes the error of the reply. */
const STOP_REASONS = new Set(["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]);

/** Shows one session. */
function standardView(
  session: Session,
  deps: {
    readonly connection: Connection;
    readonly capabilities: ClientCapabilities;
    readonly sessions: ReachableSessions;
    /** The settings that the client is shown now. */
    readonly shown: () => SettingsShown;
    readonly origin: string | undefined;
    readonly onNotice: (text: string, sessionId: string) => void;
    /** Called when the engine's slash commands have changed. */
    readonly onCommands: (session: Session) => void;
  },
): SessionView {
  const { connection, capabilities, shown } = deps;
  const { id } = session;
  /** The session if it is loaded now. An unloaded session has no questions. */
  const loaded = () => deps.sessions.find(id);
  const frames = createFrames(id, capabilities, (update) =>
    connection.notify("session/update", { sessionId: id, update }),
  );
  const prompts = createPermissionPrompts(connection, { id, find: loaded }, deps.origin);
  const effects = clientEffects(connection, id, capabilities);

  const elicitations = createElicitations(connection, { id, find: loaded }, capabilities, deps.origin);
  for (const permission of session.openPermissions.values()) prompts.ask(permission);
  for (const question of session.openQuestions.values()) elicitations.ask(question);

  let beginnings = 0;

  return {
    ...(effects && { effects }),
    async begin(seq) {
      const beginning = ++beginnings;
      const before = await readBefore(deps.sessions.logs, id, seq - 1);
      if (beginning === beginnings) frames.continueMessages(before);
    },
    frames(entry, isOwnPrompt) {
      if (isLost(entry)) return [frames.lost(entry)];
      const delta = frames.delta(entry);
      if (delta !== null) return [delta];
      if (isOwnPrompt && entry.type === "user_message") return [];
      return frames.of(entry.event, updatesOf(entry));
    },
    after(entry) {
      if (entry.type === "commands_changed") {
        const now = loaded();
        if (now) deps.onCommands(now);
      }
      // For every other record, leave the event undecoded.
      if (!FOLLOWED_RECORDS.has(entry.type)) return;
      const { type, metadata } = entry.event;
      if (type === "notice") deps.onNotice(metadata.text, id);
      if (type === "sandbox_violation") deps.onNotice(`${metadata.tool} was stopped: ${metadata.reason}`, id);
      if (type === "permission_resolved") prompts.withdraw(metadata.permission_id);
      if (type === "question_answered") elicitations.withdraw(metadata.question_id);
      if (type === "question_asked" && loaded()?.openQuestions.has(metadata.question_id)) elicitations.ask(metadata);
      if (type !== "permission_request") return;
      const permission = loaded()?.openPermissions.get(metadata.permission_id);
      if (permission) prompts.ask(permission);
    },
    reloaded(again) {
      // The session's start settings may have changed while it was unloaded.
      const update = { sessionUpdate: "config_option_update", configOptions: configOptions(again, shown()) };
      connection.notify("session/update", { sessionId: id, update });
    },
    answer(stopReason, turn) {
      if (!STOP_REASONS.has(stopReason)) return null;
      const { input = 0, output = 0, cache = 0, reasoning = 0 } = turn?.usage ?? {};
      const usage = {
        totalTokens: input + output + cache,
        inputTokens: input,
        outputTokens: output,
        thoughtTokens: reasoning,
        cachedReadTokens: cache,
      };
      return { stopReason, usage };
    },
    close() {
      prompts.close();
      elicitations.close();
      frames.close();
    },
  };

  function updatesOf(entry: Entry<SessionEvent>): SessionUpdate[] {
    const updates = frames.updates(entry.event);
    const now = CONFIG_RECORDS.has(entry.type) ? loaded() : undefined;
    if (!now) return updates;
    const options: SessionUpdate = {
      sessionUpdate: "config_option_update",
      configOptions: configOptions(now, shown()),
    };
    if (!MODE_RECORDS.has(entry.type)) return [...updates, options];
    // A flag or a preset may result in another mode, and a preset may overrule one.
    return [{ sessionUpdate: "current_mode_update", currentModeId: shown().modes(now).current }, options];
  }
}
