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

/** Rows of a page of `session/list`. */
const LISTED_PAGE = 50;

/** A client's own name for a prompt: sent again with it, the prompt is answered with the turn that it began. */
const REQUEST_ID = "chimera.dev/requestId";
const LONGEST_KEY = 255;

const Rewinding = v.object({
  sessionId: v.string(),
  steps: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  force: v.optional(v.boolean()),
  dry_run: v.optional(v.boolean()),
});

/** What each method takes: as the specification says, with what else clients are known to send, and our own beside it. */
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

/** Built once per connection, for what its client said it can do. */
export function standardMethods(context: DialectContext, hello: Record<string, unknown>): Rows {
  const { connection, origin } = context;
  const own = sessionsOf(context);
  // The version was settled with the dialect, which may have been forced on a client that names none.
  const { clientCapabilities: capabilities } = v.parse(InitializeRequest, { ...hello, protocolVersion: 1 });
  const commands = createCommandList(context);
  const shows = createShows(context, capabilities, (session) => {
    if (commands.isShown(session.id)) offer(session);
  });
  const offer = (session: Session): void => {
    commands.show(session).catch((error) => context.onReaderError(error, session.id));
  };
  /** Answers with a session that was made or opened, and then lists its commands: a person may begin with one. */
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
  /** Shows a session that the client just made or asked for, from after a record. */
  const show = (core: Core, session: Session, from: number, isReplayed = false): void =>
    own.show(core, session.id, { from, isReplayed, view: () => shows.view(core, session) });
  const rewind = async (
    direction: "undo" | "redo",
    { sessionId, steps, force, dry_run }: v.InferOutput<typeof Rewinding>,
  ) => (await open(sessionId))[direction]({ steps, force, dryRun: dry_run, origin });
  const close = async (sessionId: string, how: "close" | "delete") => {
    await own.close(sessionId, how);
    commands.forget(sessionId);
    shows.forget(sessionId);
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
      own.lend(session.id, mcpServers.map(mcpServer));
      shows.set(core, session, agents);
      show(core, session, 0);
      answerOpened(request, session, { sessionId: session.id });
      return deferred;
    },
    "session/load": async ({ sessionId, mcpServers }, request): Promise<typeof deferred> => {
      const core = await context.core();
      const { session, head, visible } = await core.sessions.loadVisible(sessionId);
      own.lend(sessionId, mcpServers.map(mcpServer));
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
      if (mcpServers) own.lend(sessionId, mcpServers.map(mcpServer));
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
      // The protocol has no word for a session that does not say where it worked.
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
      own.lend(child.id, (mcpServers ?? []).map(mcpServer));
      await shows.settings(core, child);
      show(core, child, child.lastSeq);
      answerOpened(request, child, { sessionId: child.id });
      return deferred;
    },
    "session/close": async ({ sessionId }) => {
      await close(sessionId, "close");
      return {};
    },
    "session/delete": async ({ sessionId }) => {
      await close(sessionId, "delete");
      return {};
    },
    "session/prompt": ({ sessionId, prompt, _meta }, request) => {
      const asked = _meta?.[REQUEST_ID];
      const key = typeof asked === "string" && asked.length <= LONGEST_KEY ? asked : undefined;
      const opening = async () => {
        const session = await open(sessionId);
        const updates = () => commands.show(session);
        // A prompt waits for the first list only: looking whether it changed must not stand between a prompt and its first word.
        if (!commands.isShown(sessionId)) await updates();
        return { session, input: { ...promptOf(prompt), key }, updates };
      };
      return own.prompt(sessionId, request, opening, key);
    },
    "session/cancel": async ({ sessionId }) => {
      await own.arrived(sessionId);
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
      frames.goOn(await readBefore(logs, sessionId, Math.min(from, to)));
      const replayed = await replay(connection, frames, sessionId, readRaw(logs, sessionId, { from, to }));
      // Opened where the replay ended: a client that starts with this call sees every record once and in order.
      show(core, session, to, true);
      return { sessionId, replayed, lastEventId: to, truncated: false };
    },
    "_chimera.dev/session/undo": (params) => rewind("undo", params),
    "_chimera.dev/session/redo": (params) => rewind("redo", params),
  });
}

// --- internal ---

/** How this connection's client sees settings, by session id: the choices change with the directory and over time. */
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
    /** Looks the choices up, unless they are known; `anew` always does. */
    settings: async (core: Core, session: Session, anew = false): Promise<SettingsShown> =>
      (!anew && known.get(session.id)) || set(core, session, await core.agents(session.cwd)),
    settingsOf: (session: Session) => ({
      modes: modeState(session, known.get(session.id)!),
      configOptions: configOptions(session, known.get(session.id)!),
    }),
    view: ({ sessions }: Core, session: Session) => {
      // The view outlives what is loaded of a session, and must not hold it.
      const { id } = session;
      const shown = () => known.get(id)!;
      return standardView(session, { connection, capabilities, sessions, shown, origin, onNotice, onCommands });
    },
    forget: (id: string) => void known.delete(id),
  };
}

/** `available_commands_update`: sent when a session is opened, and with a prompt when they have changed since. */
function createCommandList({ connection, core }: DialectContext) {
  const shown = new Map<string, string>();
  /** Each text once: nearly every session is shown the same. */
  const texts = new Map<string, string>();
  return {
    async show({ id: sessionId, cwd, conversation }: Session): Promise<void> {
      const { palette } = await core();
      const custom = await palette.custom(cwd);
      // A client of one thread cannot follow a command that opens another.
      const own = [...palette.commands.filter(({ opensSession }) => !opensSession), ...custom];
      // A name that is ours stays ours: `/undo` is about our log.
      const engine = conversation.facts.engineCommands.filter(({ name }) => !own.some((one) => one.name === name));
      const key = JSON.stringify([custom, engine]);
      const known = texts.get(key) ?? key;
      texts.set(key, known);
      if (shown.get(sessionId) === known) return;
      shown.set(sessionId, known);
      connection.notify("session/update", { sessionId, update: commandsUpdate([...own, ...engine]) });
    },
    isShown: (sessionId: string) => shown.has(sessionId),
    forget: (sessionId: string) => void shown.delete(sessionId),
  };
}
