/** The rows of standard ACP v1. */
import { agentMethods, InitializeRequest, McpServer as McpServerSchema } from "@chimera/acp-schema";
import { parseCursor } from "@chimera/event-store";
import { deferred, type Methods, type RequestContext } from "@chimera/ndjson-rpc";
import { parseMode, type RewindOptions } from "@chimera/session";
import * as v from "valibot";
import type { DialectContext } from "../dialect.js";
import { requireDirectories } from "../directory.js";
import { createConnectionSessions } from "./connection-sessions.js";
import { listSessions } from "./list.js";
import { mcpServer, withPlainServers } from "./mcp-servers.js";
import { promptInput } from "./prompt-content.js";
import { replayRaw, replayVisible } from "./replay.js";
import { configOptions, setConfigOption } from "./settings.js";

const Rewinding = v.object({
  sessionId: v.string(),
  steps: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  force: v.optional(v.boolean()),
  dry_run: v.optional(v.boolean()),
});

const Forking = v.object({
  sessionId: v.string(),
  mcpServers: v.nullish(v.array(McpServerSchema)),
  _meta: v.nullish(v.record(v.string(), v.unknown())),
});

/** Built once per connection, for what its client said it can do. */
export function standardMethods(context: DialectContext, hello: Record<string, unknown>): Methods {
  const { connection, open, origin } = context;
  // The version was settled with the dialect, which may have been forced on a client that names none.
  const { clientCapabilities: capabilities } = v.parse(InitializeRequest, { ...hello, protocolVersion: 1 });
  const own = createConnectionSessions(context, capabilities);

  const row = <K extends keyof typeof agentMethods>(
    name: K,
    handle: (params: v.InferOutput<(typeof agentMethods)[K]["params"]>, request: RequestContext) => unknown,
  ) => ({ [name]: { params: withPlainServers(agentMethods[name].params), handle } }) as Methods;

  return {
    ...row("authenticate", () => ({})),
    ...row("logout", () => ({})),
    ...row("session/new", async ({ cwd, mcpServers, additionalDirectories }) => {
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
    }),
    ...row("session/load", async ({ sessionId, mcpServers }, request) => {
      const engine = await context.engine();
      const session = await engine.sessions.load(sessionId);
      own.lend(session, mcpServers.map(mcpServer));
      const shown = await own.shownFor(engine, session);
      const head = session.lastSeq;
      await replayVisible(connection, engine.sessions, session, capabilities, head);
      // Live updates start after the reply, from where the replay ended.
      request.reply(own.settingsOf(session, shown));
      own.show(session, shown, head);
      return deferred;
    }),
    ...row("session/resume", async ({ sessionId, mcpServers }) => {
      const { session, shown } = await own.open(sessionId);
      if (mcpServers) own.lend(session, mcpServers.map(mcpServer));
      return own.settingsOf(session, shown);
    }),
    ...row("session/list", async ({ cwd, cursor }) => {
      const engine = await context.engine();
      return listSessions(engine, cwd ?? null, cursor ?? null);
    }),
    "session/fork": {
      params: withPlainServers(Forking),
      handle: async ({ sessionId, mcpServers, _meta }: v.InferOutput<typeof Forking>) => {
        const engine = await context.engine();
        const index = _meta?.["chimera.dev/messageIndex"];
        const turn = typeof index === "number" && Number.isInteger(index) ? { turn: index } : {};
        const child = await engine.sessions.fork(sessionId, turn);
        own.lend(child, (mcpServers ?? []).map(mcpServer));
        const shown = await own.shownFor(engine, child);
        own.show(child, shown);
        return { sessionId: child.id, ...own.settingsOf(child, shown) };
      },
    } as Methods[string],
    ...row("session/close", async ({ sessionId }) => {
      await own.close(sessionId);
      return {};
    }),
    ...row("session/delete", async ({ sessionId }) => {
      const { sessions } = await own.close(sessionId);
      await sessions.delete(sessionId);
      return {};
    }),
    ...row("session/prompt", ({ sessionId, prompt }, request) =>
      open.prompt(sessionId, request, async () => {
        const { engine, session } = await own.open(sessionId);
        const first = !own.commands.known(session.id);
        const updates = own.commands.tell(engine, session);
        // Only the first prompt waits for them: looking whether they changed must not stand between a prompt and its first word.
        if (first) await updates;
        return { session, input: promptInput(prompt), updates };
      }),
    ),
    ...row("session/cancel", async ({ sessionId }) => {
      await open.arrived(sessionId);
      const { sessions } = await context.engine();
      sessions.find(sessionId)?.cancel();
      return {};
    }),
    ...row("session/set_mode", async ({ sessionId, modeId }) => {
      const { session } = await own.open(sessionId);
      session.setMode(parseMode(modeId), origin);
      return {};
    }),
    ...row("session/set_config_option", async (params) => {
      const { engine, session } = await own.open(params.sessionId);
      const shown = await own.shownFor(engine, session);
      setConfigOption(session, shown, { id: params.configId, value: params.value, origin });
      return { configOptions: configOptions(session, shown) };
    }),
    "session/set_model": {
      params: v.object({ sessionId: v.string(), modelId: v.string() }),
      handle: async ({ sessionId, modelId }: { sessionId: string; modelId: string }) => {
        (await own.open(sessionId)).session.setModel(modelId, origin);
        return {};
      },
    } as Methods[string],
    "session/set_title": {
      params: v.object({ sessionId: v.string(), title: v.string() }),
      handle: async ({ sessionId, title }: { sessionId: string; title: string }) => {
        const { session } = await own.open(sessionId);
        session.setTitle(title, origin);
        return { title: session.title ?? "" };
      },
    } as Methods[string],
    "_chimera.dev/session/replay": {
      params: v.looseObject({ sessionId: v.string() }),
      handle: async (params: { sessionId: string; sinceEventId?: unknown }) => {
        const { engine, session, shown } = await own.find(params.sessionId);
        const to = session.lastSeq;
        const from = parseCursor(params.sinceEventId as string);
        const replayed = await replayRaw(connection, engine.sessions, session, capabilities, { from, to });
        // Opened where the replay ended: a client that starts with this call sees every record once and in order.
        own.show(session, shown, to);
        return { sessionId: session.id, replayed, lastEventId: to, truncated: false };
      },
    } as Methods[string],
    "_chimera.dev/session/undo": rewindRow("undo"),
    "_chimera.dev/session/redo": rewindRow("redo"),
  };

  function rewindRow(direction: "undo" | "redo"): Methods[string] {
    return {
      params: Rewinding,
      handle: async ({ sessionId, steps, force, dry_run }: v.InferOutput<typeof Rewinding>) => {
        const options: RewindOptions = {
          ...(steps !== undefined && { steps }),
          ...(force !== undefined && { force }),
          ...(dry_run !== undefined && { dryRun: dry_run }),
        };
        return (await own.open(sessionId)).session[direction](options);
      },
    } as Methods[string];
  }
}
