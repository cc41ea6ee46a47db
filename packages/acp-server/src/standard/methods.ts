/** The rows of standard ACP v1. */
import {
  agentMethods,
  type ClientCapabilities,
  InitializeRequest,
  type McpServer as WireMcpServer,
} from "@chimera/acp-schema";
import { parseCursor } from "@chimera/event-store";
import { deferred, type Methods, type RequestContext } from "@chimera/ndjson-rpc";
import { type McpServer, parseMode, type RewindOptions, type Session } from "@chimera/session";
import * as v from "valibot";
import type { Engine } from "../context.js";
import type { DialectContext } from "../dialect.js";
import { requireDirectories } from "../directory.js";
import { promptInput } from "./prompt-content.js";
import { replayRaw, replayVisible } from "./replay.js";
import { configOptions, modeState, type SettingsShown, setConfigOption } from "./settings.js";
import { standardView } from "./view.js";

const PAGE = 50;

const Rewinding = v.object({
  sessionId: v.string(),
  steps: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  force: v.optional(v.boolean()),
  dry_run: v.optional(v.boolean()),
});

/** Built once per connection, for what its client said it can do. */
export function standardMethods(context: DialectContext, hello: unknown): Methods {
  const { connection, open, origin } = context;
  const capabilities: ClientCapabilities = v.parse(InitializeRequest, hello).clientCapabilities ?? {};
  const booleans = capabilities.session?.configOptions?.boolean != null;
  const announced = new Set<string>();

  const shownFor = async (engine: Engine, session: Session): Promise<SettingsShown> => ({
    models: engine.models(),
    agents: await engine.agents(session.cwd),
    extensions: context.extensions,
    booleans,
  });
  const settingsOf = (session: Session, shown: SettingsShown) => ({
    modes: modeState(session),
    configOptions: configOptions(session, shown),
  });
  const show = (session: Session, shown: SettingsShown, from?: number) =>
    open.open(
      session,
      (opened) => standardView(opened, { connection, capabilities, shown, origin }),
      from === undefined ? {} : { from },
    );
  const loaded = async (id: string): Promise<{ engine: Engine; session: Session; shown: SettingsShown }> => {
    const engine = await context.engine();
    const session = open.get(id) ?? (await engine.sessions.load(id));
    return { engine, session, shown: await shownFor(engine, session) };
  };
  /** A session this connection has open, or a stored one, opened at its head. */
  const sessionOf = async (id: string) => {
    const found = await loaded(id);
    show(found.session, found.shown);
    return found;
  };
  const announceCommands = async (engine: Engine, session: Session) => {
    if (announced.has(session.id)) return;
    announced.add(session.id);
    const custom = await engine.palette.custom(session.cwd);
    const rows = new Map(engine.palette.commands.map((row) => [row.name, row]));
    for (const { name, description } of custom) rows.set(name, { name, description, run: () => "" });
    const availableCommands = [...rows.values()].map(({ name, description, hint }) => ({
      name,
      description,
      ...(hint !== undefined && { input: { hint } }),
    }));
    connection.notify("session/update", {
      sessionId: session.id,
      update: { sessionUpdate: "available_commands_update", availableCommands },
    });
  };

  const row = <K extends keyof typeof agentMethods>(
    name: K,
    handle: (params: v.InferOutput<(typeof agentMethods)[K]["params"]>, request: RequestContext) => unknown,
  ) => ({ [name]: { params: agentMethods[name].params, handle } }) as Methods;

  return {
    ...row("authenticate", () => ({})),
    ...row("logout", () => ({})),
    ...row("session/new", async ({ cwd, mcpServers, additionalDirectories }) => {
      await requireDirectories([cwd, ...(additionalDirectories ?? [])]);
      const engine = await context.engine();
      const session = await engine.sessions.create({
        cwd,
        directories: additionalDirectories ?? [],
        mcpServers: mcpServers.map(mcpServer),
      });
      const shown = await shownFor(engine, session);
      show(session, shown, 0);
      return { sessionId: session.id, ...settingsOf(session, shown) };
    }),
    ...row("session/load", async ({ sessionId, mcpServers }, request) => {
      const engine = await context.engine();
      const session = await engine.sessions.load(sessionId);
      session.useMcpServers(mcpServers.map(mcpServer));
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
      if (mcpServers) session.useMcpServers(mcpServers.map(mcpServer));
      return settingsOf(session, shown);
    }),
    ...row("session/list", async ({ cwd, cursor }) => {
      const engine = await context.engine();
      return listSessions(engine, cwd ?? null, cursor ?? null);
    }),
    "session/fork": {
      params: v.object({ sessionId: v.string(), _meta: v.nullish(v.record(v.string(), v.unknown())) }),
      handle: async ({ sessionId, _meta }: { sessionId: string; _meta?: Record<string, unknown> | null }) => {
        const engine = await context.engine();
        const index = _meta?.["chimera.dev/messageIndex"];
        const turn = typeof index === "number" && Number.isInteger(index) ? { turn: index } : {};
        const child = await engine.sessions.fork(sessionId, turn);
        const shown = await shownFor(engine, child);
        show(child, shown);
        return { sessionId: child.id, ...settingsOf(child, shown) };
      },
    } as Methods[string],
    ...row("session/close", async ({ sessionId }) => {
      const engine = await context.engine();
      await engine.sessions.close(sessionId);
      open.close(sessionId);
      return {};
    }),
    ...row("session/delete", async ({ sessionId }) => {
      const engine = await context.engine();
      await engine.sessions.delete(sessionId);
      open.close(sessionId);
      return {};
    }),
    ...row("session/prompt", async ({ sessionId, prompt }, request) => {
      const { engine, session } = await sessionOf(sessionId);
      await announceCommands(engine, session);
      open.prompt(session, promptInput(prompt), request);
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
      const { session, shown } = await sessionOf(params.sessionId);
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

// --- internal ---

async function listSessions(engine: Engine, cwd: string | null, cursor: string | null): Promise<object> {
  const rows = [];
  let after = cursor;
  do {
    const page = await engine.sessions.list({ limit: PAGE, ...(after !== null && { after }) });
    rows.push(...page.sessions.filter((item) => cwd === null || item.summary.cwd === cwd));
    after = page.next;
  } while (rows.length < PAGE && after !== null);
  const sessions = rows.map(({ id, summary, touched }) => ({
    sessionId: id,
    cwd: summary.cwd,
    title: summary.title ?? summary.prompt.slice(0, 60),
    updatedAt: new Date(touched).toISOString(),
  }));
  return { sessions, ...(after !== null && { nextCursor: after }) };
}

function mcpServer(server: WireMcpServer): McpServer {
  const pairs = (list: readonly { name: string; value: string }[]) =>
    Object.fromEntries(list.map(({ name, value }) => [name, value]));
  if ("command" in server) {
    const { name, command, args, env } = server;
    return { type: "stdio", name, command, args, env: pairs(env) };
  }
  const { type, name, url, headers } = server;
  return { type, name, url, headers: pairs(headers) };
}
