/** The rows of standard ACP v1. */
import {
  agentMethods,
  type ClientCapabilities,
  InitializeRequest,
  McpServer as McpServerSchema,
} from "@chimera/acp-schema";
import { parseCursor } from "@chimera/event-store";
import { deferred, type Methods, type RequestContext } from "@chimera/ndjson-rpc";
import { type McpServer, parseMode, type RewindOptions, type Session } from "@chimera/session";
import * as v from "valibot";
import type { Choice, Engine } from "../context.js";
import type { DialectContext } from "../dialect.js";
import { requireDirectories } from "../directory.js";
import { createCommandList } from "./command-list.js";
import { listSessions } from "./list.js";
import { mcpServer, withPlainServers } from "./mcp-servers.js";
import { promptInput } from "./prompt-content.js";
import { replayRaw, replayVisible } from "./replay.js";
import { configOptions, modeState, type SettingsShown, setConfigOption } from "./settings.js";
import { standardView } from "./view.js";

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
export function standardMethods(context: DialectContext, hello: unknown): Methods {
  const { connection, open, origin } = context;
  const capabilities: ClientCapabilities = v.parse(InitializeRequest, hello).clientCapabilities ?? {};
  const booleans = capabilities.session?.configOptions?.boolean != null;
  const commands = createCommandList(connection);
  const shownOf = new WeakMap<Session, SettingsShown>();
  const servers = new Map<string, readonly McpServer[]>();

  const shownWith = (engine: Engine, session: Session, agents: readonly Choice[]): SettingsShown => {
    const shown = { models: engine.models(), agents, extensions: context.extensions, booleans };
    shownOf.set(session, shown);
    return shown;
  };
  const shownFor = async (engine: Engine, session: Session) =>
    shownWith(engine, session, await engine.agents(session.cwd));
  const settingsOf = (session: Session, shown: SettingsShown) => ({
    modes: modeState(session),
    configOptions: configOptions(session, shown),
  });
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
  const lend = (session: Session, list: readonly McpServer[]) => {
    servers.set(session.id, list);
    session.useMcpServers(list);
  };
  const loaded = async (id: string): Promise<{ engine: Engine; session: Session; shown: SettingsShown }> => {
    const engine = await context.engine();
    const session = await engine.sessions.load(id);
    return { engine, session, shown: shownOf.get(session) ?? (await shownFor(engine, session)) };
  };
  /** A session this connection has open, or a stored one, opened at its head. */
  const sessionOf = async (id: string) => {
    const found = await loaded(id);
    show(found.session, found.shown);
    return found;
  };

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
      lend(session, mcpServers.map(mcpServer));
      const shown = shownWith(engine, session, agents);
      show(session, shown, 0);
      return { sessionId: session.id, ...settingsOf(session, shown) };
    }),
    ...row("session/load", async ({ sessionId, mcpServers }, request) => {
      const engine = await context.engine();
      const session = await engine.sessions.load(sessionId);
      lend(session, mcpServers.map(mcpServer));
      const shown = await shownFor(engine, session);
      const head = session.lastSeq;
      await replayVisible(connection, engine.sessions, session, capabilities, head);
      // Live updates start after the reply, from where the replay ended.
      request.reply(settingsOf(session, shown));
      show(session, shown, head);
      return deferred;
    }),
    ...row("session/resume", async ({ sessionId, mcpServers }) => {
      const { session, shown } = await sessionOf(sessionId);
      if (mcpServers) lend(session, mcpServers.map(mcpServer));
      return settingsOf(session, shown);
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
        lend(child, (mcpServers ?? []).map(mcpServer));
        const shown = await shownFor(engine, child);
        show(child, shown);
        return { sessionId: child.id, ...settingsOf(child, shown) };
      },
    } as Methods[string],
    ...row("session/close", async ({ sessionId }) => {
      const engine = await context.engine();
      await engine.sessions.close(sessionId);
      await forget(sessionId);
      return {};
    }),
    ...row("session/delete", async ({ sessionId }) => {
      const engine = await context.engine();
      await engine.sessions.close(sessionId);
      await forget(sessionId);
      await engine.sessions.delete(sessionId);
      return {};
    }),
    ...row("session/prompt", async ({ sessionId, prompt }, request) => {
      const { engine, session } = await sessionOf(sessionId);
      const first = !commands.known(session.id);
      const told = commands.tell(engine, session);
      // Only the first prompt waits for them: looking whether they changed must not stand between a prompt and its first word.
      if (first) await told;
      open.prompt(session, promptInput(prompt), request, told);
      return deferred;
    }),
    ...row("session/cancel", async ({ sessionId }) => {
      const engine = await context.engine();
      engine.sessions.find(sessionId)?.cancel();
      return {};
    }),
    ...row("session/set_mode", async ({ sessionId, modeId }) => {
      const { session } = await sessionOf(sessionId);
      session.setMode(parseMode(modeId), origin);
      return {};
    }),
    ...row("session/set_config_option", async (params) => {
      const { engine, session } = await sessionOf(params.sessionId);
      const shown = await shownFor(engine, session);
      setConfigOption(session, shown, { id: params.configId, value: params.value, origin });
      return { configOptions: configOptions(session, shown) };
    }),
    "session/set_model": {
      params: v.object({ sessionId: v.string(), modelId: v.string() }),
      handle: async ({ sessionId, modelId }: { sessionId: string; modelId: string }) => {
        (await sessionOf(sessionId)).session.setModel(modelId, origin);
        return {};
      },
    } as Methods[string],
    "_chimera.dev/session/replay": {
      params: v.looseObject({ sessionId: v.string() }),
      handle: async (params: { sessionId: string; sinceEventId?: unknown }) => {
        const { engine, session, shown } = await loaded(params.sessionId);
        const to = session.lastSeq;
        const from = parseCursor(params.sinceEventId as string);
        const replayed = await replayRaw(connection, engine.sessions, session, capabilities, { from, to });
        // Opened where the replay ended: a client that starts with this call sees every record once and in order.
        show(session, shown, to);
        return { sessionId: session.id, replayed, lastEventId: to, truncated: false };
      },
    } as Methods[string],
    "_chimera.dev/session/undo": rewindRow("undo"),
    "_chimera.dev/session/redo": rewindRow("redo"),
  };

  /** What this connection keeps of a session; its last updates go out first. */
  async function forget(sessionId: string): Promise<void> {
    await open.finish(sessionId);
    commands.forget(sessionId);
    servers.delete(sessionId);
  }

  function rewindRow(direction: "undo" | "redo"): Methods[string] {
    return {
      params: Rewinding,
      handle: async ({ sessionId, steps, force, dry_run }: v.InferOutput<typeof Rewinding>) => {
        const options: RewindOptions = {
          ...(steps !== undefined && { steps }),
          ...(force !== undefined && { force }),
          ...(dry_run !== undefined && { dryRun: dry_run }),
        };
        return (await sessionOf(sessionId)).session[direction](options);
      },
    } as Methods[string];
  }
}
