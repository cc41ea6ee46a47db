/** The rows of standard ACP v1. */
import { agentMethods, type ClientCapabilities, InitializeRequest, McpServer } from "@chimera/acp-schema";
import { parseCursor } from "@chimera/event-store";
import { deferred, type RequestContext } from "@chimera/ndjson-rpc";
import { promptOf, type Session, titleFrom } from "@chimera/session";
import * as v from "valibot";
import { sessionsOf } from "../connection-sessions.js";
import type { Choice, Core } from "../core.js";
import type { DialectContext } from "../dialect.js";
import {
  loadedServers,
  mcpServer,
  namedLinks,
  plainServers,
  requireDirectories,
  tolerate,
  typedValue,
} from "../input.js";
import { type Rows, rowsOf } from "../row.js";
import { commandsUpdate, createFrames } from "./frames.js";
import { METHODS } from "./methods.js";
import { readBefore, readRaw, replay } from "./replay.js";
import { configOptions, modeState, plainModes, requireMode, type SettingsShown, setConfigOption } from "./settings.js";
import { standardView } from "./view.js";

/** How many sessions one page of `session/list` has. */
const LISTED_PAGE = 50;

/** The `_meta` key for a client's own id of a prompt. A prompt sent again with the same id is answered with the turn that it began. */
const REQUEST_ID = "chimera.dev/requestId";
const LONGEST_KEY = 255;

const Rewinding = v.object({
  sessionId: v.string(),
  steps: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  force: v.optional(v.boolean()),
  dry_run: v.optional(v.boolean()),
});

/** The params of each method: the specification's, tolerant of known clients' departures from it, and those of our own methods. */
const SHAPES = {
  ...agentMethods,
  "session/new": tolerate(agentMethods["session/new"], plainServers),
  "session/load": tolerate(agentMethods["session/load"], loadedServers),
  "session/resume": tolerate(agentMethods["session/resume"], plainServers),
  "session/fork": tolerate(
    {
      params: v.object({
        sessionId: v.string(),
        mcpServers: v.nullish(v.array(McpServer)),
        _meta: v.nullish(v.record(v.string(), v.unknown())),
      }),
    },
    plainServers,
  ),
  "session/prompt": tolerate(agentMethods["session/prompt"], namedLinks),
  "session/set_config_option": tolerate(agentMethods["session/set_config_option"], typedValue),
  "session/set_model": { params: v.object({ sessionId: v.string(), modelId: v.string() }) },
  "session/set_title": { params: v.object({ sessionId: v.string(), title: v.string() }) },
  "_chimera.dev/session/replay": { params: v.object({ sessionId: v.string(), sinceEventId: v.optional(v.unknown()) }) },
  "_chimera.dev/session/undo": { params: Rewinding },
  "_chimera.dev/session/redo": { params: Rewinding },
};

/** Makes the rows of a connection, for the capabilities that its client has. */
export function standardMethods(context: DialectContext, hello: Record<string, unknown>): Rows {
  const { connection, origin } = context;
  const clientSessions = sessionsOf(context);
  // The version was settled with the dialect, which may have been forced on a client that does not name a version.
  const { clientCapabilities: capabilities } = v.parse(InitializeRequest, { ...hello, protocolVersion: 1 });
  const commands = createCommandList(context);
  const shows = createShows(context, capabilities, (session) => {
    if (commands.isShown(session.id)) offer(session);
  });
  const offer = (session: Session): void => {
    commands.show(session).catch((error) => context.onReaderError(error, session.id));
  };
  /** Answers with a session that was made or opened, and then lists its commands, because a person may begin with one. */
  const answerOpened = (request: RequestContext, session: Session, fields: object = {}): void => {
    request.reply({ ...fields, ...shows.settingsOf(session) });
    commands.forget(session.id);
    offer(session);
  };
  const open = async (id: string): Promise<Session> => {
    const core = await context.core();
    const session = await core.sessions.load(id);
    await shows.settings(core, session);
    show(core, session, session.lastSeq);
    return session;
  };
  /** Shows the records after `from` of a session that the client has just made or asked for. */
  const show = (core: Core, session: Session, from: number, isReplayed = false): void =>
    clientSessions.show(core, session.id, { from, isReplayed, view: () => shows.view(core, session) });
  const rewind = async (
    direction: "undo" | "redo",
    { sessionId, steps, force, dry_run }: v.InferOutput<typeof Rewinding>,
  ) => (await open(sessionId))[direction]({ steps, force, dryRun: dry_run, origin });
  const close = async (sessionId: string, how: "close" | "delete") => {
    await clientSessions.close(sessionId, how);
    commands.forget(sessionId);
    shows.forget(sessionId);
    return {};
  };

  return rowsOf(SHAPES, METHODS, {
    authenticate: () => ({}),
    logout: () => ({}),
    "session/new": async ({ cwd, mcpServers, additionalDirectories }, request): Promise<typeof deferred> => {
      requireDirectories([cwd, ...(additionalDirectories ?? [])]);
      const core = await context.core();
      const [session, agents] = await Promise.all([
        core.sessions.create({ cwd, directories: additionalDirectories ?? [] }),
        core.agents(cwd),
      ]);
      clientSessions.lend(session.id, mcpServers.map(mcpServer));
      shows.set(core, session, agents);
      show(core, session, 0);
      answerOpened(request, session, { sessionId: session.id });
      return deferred;
    },
    "session/load": async ({ sessionId, mcpServers }, request): Promise<typeof deferred> => {
      const core = await context.core();
      const { session, head, visible } = await core.sessions.loadVisible(sessionId);
      clientSessions.lend(sessionId, mcpServers.map(mcpServer));
      await shows.settings(core, session, true);
      await replay(connection, createFrames(sessionId, capabilities), sessionId, visible);
      commands.forget(sessionId);
      await commands.show(session);
      // Live updates start after the reply, from where the replay ended.
      request.reply(shows.settingsOf(session));
      show(core, session, head, true);
      return deferred;
    },
    "session/resume": async ({ sessionId, mcpServers }, request): Promise<typeof deferred> => {
      const session = await open(sessionId);
      if (mcpServers) clientSessions.lend(sessionId, mcpServers.map(mcpServer));
      answerOpened(request, session);
      return deferred;
    },
    "session/list": async ({ cwd, cursor }) => {
      const { sessions } = await context.core();
      const page = await sessions.list({
        limit: LISTED_PAGE,
        ...(typeof cwd === "string" && { cwd }),
        ...(typeof cursor === "string" && { after: cursor }),
      });
      // The protocol requires a working directory, so a session without one cannot be listed.
      const rows = page.sessions.filter(({ summary }) => summary.cwd !== "");
      return {
        sessions: rows.map(({ id, summary, touched }) => ({
          sessionId: id,
          cwd: summary.cwd,
          title: summary.title ?? titleFrom(summary.prompt) ?? "",
          updatedAt: new Date(touched).toISOString(),
          _meta: { "chimera.dev/state": summary.state },
        })),
        ...(page.next !== null && { nextCursor: page.next }),
      };
    },
    "session/fork": async ({ sessionId, mcpServers, _meta }, request): Promise<typeof deferred> => {
      const core = await context.core();
      const index = _meta?.["chimera.dev/messageIndex"];
      const turn = typeof index === "number" && Number.isInteger(index) ? index : undefined;
      const child = await core.sessions.fork(sessionId, { turn });
      clientSessions.lend(child.id, (mcpServers ?? []).map(mcpServer));
      await shows.settings(core, child);
      show(core, child, child.lastSeq);
      answerOpened(request, child, { sessionId: child.id });
      return deferred;
    },
    "session/close": ({ sessionId }) => close(sessionId, "close"),
    "session/delete": ({ sessionId }) => close(sessionId, "delete"),
    "session/prompt": ({ sessionId, prompt, _meta }, request) => {
      const asked = _meta?.[REQUEST_ID];
      const key = typeof asked === "string" && asked.length <= LONGEST_KEY ? asked : undefined;
      const opening = async () => {
        const session = await open(sessionId);
        const updates = () => commands.show(session);
        // A prompt waits only for the first list. Checking it for changes must not delay the first word of the answer.
        if (!commands.isShown(sessionId)) await updates();
        return { session, input: { ...promptOf(prompt), key }, updates };
      };
      return clientSessions.prompt(sessionId, request, opening, key);
    },
    "session/cancel": async ({ sessionId }) => {
      await clientSessions.arrived(sessionId);
      const { sessions } = await context.core();
      await sessions.find(sessionId)?.cancel();
      return {};
    },
    "session/set_mode": async ({ sessionId, modeId }) => {
      const session = await open(sessionId);
      const shown = await shows.settings(await context.core(), session);
      await session.set({ mode: requireMode(session, shown, modeId) }, origin);
      return {};
    },
    "session/set_config_option": async (params) => {
      const session = await open(params.sessionId);
      const shown = await shows.settings(await context.core(), session, true);
      await setConfigOption(session, shown, { id: params.configId, value: params.value, origin });
      return { configOptions: configOptions(session, shown) };
    },
    "session/set_model": async ({ sessionId, modelId }) => {
      await (await open(sessionId)).set({ model: modelId }, origin);
      return {};
    },
    "session/set_title": async ({ sessionId, title }) => {
      const session = await open(sessionId);
      await session.setTitle(title, origin);
      return { title: session.title ?? "" };
    },
    "_chimera.dev/session/replay": async ({ sessionId, sinceEventId }) => {
      const core = await context.core();
      const { load, logs } = core.sessions;
      const session = await load(sessionId);
      await shows.settings(core, session);
      const to = session.lastSeq;
      const from = parseCursor(sinceEventId);
      const frames = createFrames(sessionId, capabilities);
      frames.continueMessages(await readBefore(logs, sessionId, Math.min(from, to)));
      const replayed = await replay(connection, frames, sessionId, readRaw(logs, sessionId, { from, to }));
      // Show the session from where the replay ended, so that a client that starts with this call gets every record once and in order.
      show(core, session, to, true);
      return { sessionId, replayed, lastEventId: to, truncated: false };
    },
    "_chimera.dev/session/undo": (params) => rewind("undo", params),
    "_chimera.dev/session/redo": (params) => rewind("redo", params),
  });
}

// --- internal ---

/** Keeps the settings that this connection's client is shown, by session id. The choices depend on the directory and change over time. */
function createShows(
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
function createCommandList({ connection, core }: DialectContext) {
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
