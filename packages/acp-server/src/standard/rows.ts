/** The rows of standard ACP v1. */
import { agentMethods, InitializeRequest, McpServer } from "@chimera/acp-schema";
import { parseCursor } from "@chimera/event-store";
import { deferred, type RequestContext } from "@chimera/ndjson-rpc";
import { promptOf, type Session, titleFrom } from "@chimera/session";
import * as v from "valibot";
import { sessionsOf } from "../connection-sessions.js";
import type { Core } from "../core.js";
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
import { type Handlers, type Rows, rowsOf } from "../row.js";
import { createFrames } from "./frames.js";
import { METHODS } from "./methods.js";
import { readBefore, readRaw, replay } from "./replay.js";
import { configOptions, requireMode, setConfigOption } from "./settings.js";
import { createCommandList, createShows } from "./view.js";

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
  const shared = createShared(context, hello);
  return rowsOf(SHAPES, METHODS, {
    authenticate: () => ({}),
    logout: () => ({}),
    ...openingRows(context, shared),
    ...sessionRows(context, shared),
    ...moreRows(context, shared),
  });
}

// --- internal ---

type Shared = ReturnType<typeof createShared>;

/** What the rows of a connection share. */
function createShared(context: DialectContext, hello: Record<string, unknown>) {
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
  /** Loads a session and sends its further updates to this client. */
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
  return { clientSessions, capabilities, commands, shows, answerOpened, open, show };
}

/** Methods that open a session for the client. */
function openingRows(
  context: DialectContext,
  { clientSessions, capabilities, commands, shows, answerOpened, open, show }: Shared,
) {
  return {
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
      await replay(context.connection, createFrames(sessionId, capabilities), sessionId, visible);
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
  } satisfies Handlers<typeof SHAPES>;
}

/** The list, turns, and the end of a session. */
function sessionRows(context: DialectContext, { clientSessions, commands, shows, open }: Shared) {
  const close = async (sessionId: string, how: "close" | "delete") => {
    await clientSessions.close(sessionId, how);
    commands.forget(sessionId);
    shows.forget(sessionId);
    return {};
  };
  return {
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
  } satisfies Handlers<typeof SHAPES>;
}

/** Settings, the title, and our own methods. */
function moreRows(context: DialectContext, { capabilities, shows, open, show }: Shared) {
  const { origin } = context;
  const rewind = async (
    direction: "undo" | "redo",
    { sessionId, steps, force, dry_run }: v.InferOutput<typeof Rewinding>,
  ) => (await open(sessionId))[direction]({ steps, force, dryRun: dry_run, origin });
  return {
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
      const replayed = await replay(context.connection, frames, sessionId, readRaw(logs, sessionId, { from, to }));
      // Show the session from where the replay ended, so that a client that starts with this call gets every record once and in order.
      show(core, session, to, true);
      return { sessionId, replayed, lastEventId: to, truncated: false };
    },
    "_chimera.dev/session/undo": (params) => rewind("undo", params),
    "_chimera.dev/session/redo": (params) => rewind("redo", params),
  } satisfies Handlers<typeof SHAPES>;
}
