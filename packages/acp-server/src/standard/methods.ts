/** The rows of standard ACP v1. */
import { agentMethods, InitializeRequest, McpServer } from "@chimera/acp-schema";
import { startOf } from "@chimera/acp-schema/text";
import { parseCursor } from "@chimera/event-store";
import { deferred, type Methods } from "@chimera/ndjson-rpc";
import { parseMode } from "@chimera/session";
import * as v from "valibot";
import type { DialectContext } from "../dialect.js";
import { requireDirectories } from "../directory.js";
import { promptInput } from "../prompt-content.js";
import { rowsOf } from "../rows.js";
import { createConnectionSessions } from "./connection-sessions.js";
import { mcpServer } from "./mcp-servers.js";
import { replayRaw, replayVisible } from "./replay.js";
import { configOptions, setConfigOption } from "./settings.js";
import { loadedServers, namedLinks, plainServers, tolerate, typedValue } from "./tolerated.js";

/** Rows of a page of `session/list`. */
const LISTED_PAGE = 50;

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
export function standardMethods(context: DialectContext, hello: Record<string, unknown>): Methods {
  const { connection, open, origin } = context;
  // The version was settled with the dialect, which may have been forced on a client that names none.
  const { clientCapabilities: capabilities } = v.parse(InitializeRequest, { ...hello, protocolVersion: 1 });
  const own = createConnectionSessions(context, capabilities);

  const rewind = async (
    direction: "undo" | "redo",
    { sessionId, steps, force, dry_run }: v.InferOutput<typeof Rewinding>,
  ) => {
    const { session } = await own.open(sessionId);
    return session[direction]({ steps, force, dryRun: dry_run, origin });
  };

  return rowsOf(SHAPES, {
    authenticate: () => ({}),
    logout: () => ({}),
    "session/new": async ({ cwd, mcpServers, additionalDirectories }) => {
      requireDirectories([cwd, ...(additionalDirectories ?? [])]);
      const engine = await context.engine();
      const [session, agents] = await Promise.all([
        engine.sessions.create({ cwd, directories: additionalDirectories ?? [] }),
        engine.agents(cwd),
      ]);
      own.lend(session, mcpServers.map(mcpServer));
      const shown = own.shownWith(engine, session, agents);
      own.show(session, shown, 0);
      return { sessionId: session.id, ...own.settingsOf(session, shown) };
    },
    "session/load": async ({ sessionId, mcpServers }, request): Promise<typeof deferred> => {
      const engine = await context.engine();
      const session = await engine.sessions.load(sessionId);
      own.lend(session, mcpServers.map(mcpServer));
      const shown = await own.shownFor(engine, session);
      const head = session.lastSeq;
      await replayVisible({ connection, sessions: engine.sessions, session, capabilities }, head);
      // Live updates start after the reply, from where the replay ended.
      request.reply(own.settingsOf(session, shown));
      own.show(session, shown, head);
      return deferred;
    },
    "session/resume": async ({ sessionId, mcpServers }) => {
      const { session, shown } = await own.open(sessionId);
      if (mcpServers) own.lend(session, mcpServers.map(mcpServer));
      return own.settingsOf(session, shown);
    },
    "session/list": async ({ cwd, cursor }) => {
      const { sessions } = await context.engine();
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
          title: summary.title ?? startOf(summary.prompt, 60),
          updatedAt: new Date(touched).toISOString(),
          _meta: { "chimera.dev/state": summary.state },
        })),
        ...(page.next !== null && { nextCursor: page.next }),
      };
    },
    "session/fork": async ({ sessionId, mcpServers, _meta }) => {
      const engine = await context.engine();
      const index = _meta?.["chimera.dev/messageIndex"];
      const turn = typeof index === "number" && Number.isInteger(index) ? index : undefined;
      const child = await engine.sessions.fork(sessionId, { turn });
      own.lend(child, (mcpServers ?? []).map(mcpServer));
      const shown = await own.shownFor(engine, child);
      own.show(child, shown);
      return { sessionId: child.id, ...own.settingsOf(child, shown) };
    },
    "session/close": async ({ sessionId }) => {
      await own.close(sessionId);
      return {};
    },
    "session/delete": async ({ sessionId }) => {
      const { sessions } = await own.close(sessionId);
      await sessions.delete(sessionId);
      return {};
    },
    "session/prompt": ({ sessionId, prompt }, request) =>
      open.prompt(sessionId, request, async () => {
        const { engine, session } = await own.open(sessionId);
        const first = !own.commands.known(session.id);
        const updates = own.commands.tell(engine, session);
        // Only the first prompt waits for them: looking whether they changed must not stand between a prompt and its first word.
        if (first) await updates;
        return { session, input: promptInput(prompt), updates };
      }),
    "session/cancel": async ({ sessionId }) => {
      await open.arrived(sessionId);
      const { sessions } = await context.engine();
      sessions.find(sessionId)?.cancel();
      return {};
    },
    "session/set_mode": async ({ sessionId, modeId }) => {
      const { session } = await own.open(sessionId);
      session.setMode(parseMode(modeId), origin);
      return {};
    },
    "session/set_config_option": async (params) => {
      const { engine, session } = await own.open(params.sessionId);
      const shown = await own.shownFor(engine, session);
      setConfigOption(session, shown, { id: params.configId, value: params.value, origin });
      return { configOptions: configOptions(session, shown) };
    },
    "session/set_model": async ({ sessionId, modelId }) => {
      (await own.open(sessionId)).session.setModel(modelId, origin);
      return {};
    },
    "session/set_title": async ({ sessionId, title }) => {
      const { session } = await own.open(sessionId);
      session.setTitle(title, origin);
      return { title: session.title ?? "" };
    },
    "_chimera.dev/session/replay": async ({ sessionId, sinceEventId }) => {
      const { engine, session, shown } = await own.find(sessionId);
      const to = session.lastSeq;
      const from = parseCursor(sinceEventId);
      const replayed = await replayRaw({ connection, sessions: engine.sessions, session, capabilities }, { from, to });
      // Opened where the replay ended: a client that starts with this call sees every record once and in order.
      own.show(session, shown, to);
      return { sessionId, replayed, lastEventId: to, truncated: false };
    },
    "_chimera.dev/session/undo": (params) => rewind("undo", params),
    "_chimera.dev/session/redo": (params) => rewind("redo", params),
  });
}
