/** Drives the session of an engine behind one of our sessions: opens or restores it, prompts it, cancels it and closes it. */
import type { McpServer as AcpMcpServer } from "@chimera/acp-schema";
import type { AgentContext, Turn } from "@chimera/acp-schema/agent";
import { ENGINE_OPTION } from "@chimera/acp-schema/conversation";
import type { AgentEvent } from "@chimera/acp-schema/events";
import { createOutbox, type Outbox } from "@chimera/acp-schema/outbox";
import { isRpcError } from "@chimera/ndjson-rpc";
import { createAttribution, isUnasked } from "./call-state.js";
import { type UnknownUpdate, within } from "./connect-agent.js";
import { DECLINED, settleElicitation } from "./elicitation.js";
import { EngineError } from "./errors.js";
import { limits } from "./limits.js";
import { createMapper, type Mapper, type OpenAnswer } from "./map-update.js";
import { endOrphan, type Memory, rangesOf, readMemory, writeMemory } from "./memory.js";
import { CANCELLED, describe, settlePermission } from "./permission.js";
import type { Lease, Pool } from "./pool.js";
import { type EngineProgram, orEnded } from "./program.js";
import { promptOf, retell, serversFor, usageOf } from "./prompt.js";

export interface EngineSessionDeps {
  readonly engine: string;
  readonly sessionId: string;
  readonly cwd: string;
  readonly pool: Pool;
  /** The id of the engine's login method to use. Without one, a turn fails when the engine asks for a login. */
  readonly auth: string | undefined;
  readonly clock: () => number;
  /** Whether this process started the program with this pid. */
  readonly isOurs: (pid: number | undefined) => boolean;
}

export type EngineSession = ReturnType<typeof createEngineSession>;

export function createEngineSession(deps: EngineSessionDeps) {
  let opened: Opened | null = null;
  /** The running turn. Without one, events are recorded between turns. */
  let running: RunningTurn | null = null;
  /** Resolves when the engine has answered the last prompt, because a turn that our session gave up may still run. */
  let answered: Promise<unknown> = Promise.resolve();
  let ourSession: AgentContext["session"] | null = null;

  const emit = (events: readonly AgentEvent[]): void => {
    if (!running) {
      for (const event of events) ourSession?.emit(event);
      return;
    }
    const { outbox } = running;
    const program = opened?.program;
    const hadRoom = outbox.pending <= limits.waitingEvents;
    for (const event of events) outbox.push(event);
    if (!program || !hadRoom || outbox.pending <= limits.waitingEvents) return;
    program.pause(true);
    void outbox.taken().then(() => program.pause(false));
  };

  const onUpdate = (update: UnknownUpdate): void => {
    if (!opened) return;
    // While the engine loads a session it repeats its past, which our log already has.
    if (opened.isReplaying && !STATE_KINDS.has(String(update["sessionUpdate"]))) return;
    emit(opened.mapper.of(update));
  };

  const listener = {
    onUpdate,
    async onPermission(asked: Parameters<typeof settlePermission>[1]) {
      if (!running || !opened) return CANCELLED;
      const { outbox, context } = running;
      const { call, events } = opened.mapper.asked(asked.toolCall);
      emit(events);
      await outbox.taken();
      return settlePermission(call, asked, context.ask);
    },
    async onElicitation(asked: Parameters<typeof settleElicitation>[0]) {
      const { toolCallId } = asked as { readonly toolCallId?: string | null };
      const put = running?.context.question;
      return put ? settleElicitation(asked, toolCallId ?? "elicitation", put) : DECLINED;
    },
  };

  const leave = (): void => {
    if (!opened) return;
    const { program, session, release } = opened;
    program.forget(session);
    opened = null;
    release();
  };

  /** Opens a session of the engine that knows the visible conversation, or returns the conversation as text for a new one. */
  const open = async (turn: Turn, context: AgentContext): Promise<string | null> => {
    const memory = readMemory(context.session.recall(), deps.engine);
    const isSamePast = memory?.owner === deps.sessionId && memory.turns === rangesOf(turn.seen);
    if (opened && !opened.program.ended.aborted && isSamePast && opened.session === memory.session) return null;
    leave();
    if (memory && !deps.isOurs(memory.program?.pid)) endOrphan(memory);
    const lease = await deps.pool.take(deps.cwd);
    const { program } = lease;
    try {
      const base = {
        cwd: deps.cwd,
        mcpServers: serversFor(turn.settings.mcpServers, program.agent.about.agentCapabilities),
      };
      const mapper = createMapper(deps.clock);
      const prepare = (session: string, isReplaying: boolean) => {
        opened = { ...lease, session, mapper, isReplaying };
        program.listen(session, listener);
      };
      const reasons = isSamePast ? await restore(program, memory, base, prepare) : [];
      if (reasons === null) return null;
      const answer = await withLogin(program, () => program.agent.request("session/new", base));
      prepare(answer.sessionId, false);
      emit(mapper.opened(answer));
      const past = retell(turn.history);
      if (past !== null) emit([notice(whyRetold(deps.engine, memory, isSamePast, reasons))]);
      return past;
    } catch (error) {
      if (opened) leave();
      else lease.release();
      throw error;
    }
  };

  /** Resumes or loads a remembered session. Returns null if it is open again, or else the reason why each method failed. */
  const restore = async (
    program: EngineProgram,
    memory: Memory,
    base: { cwd: string; mcpServers: AcpMcpServer[] },
    prepare: (session: string, isReplaying: boolean) => void,
  ): Promise<string[] | null> => {
    const { agentCapabilities } = program.agent.about;
    const ways = [
      ["session/resume", agentCapabilities.sessionCapabilities.resume != null],
      ["session/load", agentCapabilities.loadSession],
    ] as const;
    const reasons: string[] = [];
    for (const [method, isOffered] of ways) {
      if (!isOffered) continue;
      try {
        prepare(memory.session, method === "session/load");
        const asked = { ...base, sessionId: memory.session };
        const answer = await withLogin(program, () => within(program.agent.request(method, asked), method));
        opened!.isReplaying = false;
        emit(opened!.mapper.opened(answer as OpenAnswer));
        return null;
      } catch (error) {
        program.forget(memory.session);
        opened = null;
        if (program.ended.aborted || (error as EngineError).code === "login_needed") throw error;
        reasons.push(`${method}: ${(error as Error).message}`);
      }
    }
    return reasons;
  };

  const withLogin = async <T>(program: EngineProgram, call: () => Promise<T>): Promise<T> => {
    const attempt = () => orEnded(within(call(), "opening a session"), program.ended);
    try {
      return await attempt();
    } catch (error) {
      if (!isRpcError(error) || error.code !== LOGIN_NEEDED) throw error;
      const ways = program.agent.about.authMethods.map(({ id }) => id);
      if (deps.auth === undefined || !ways.includes(deps.auth))
        throw new EngineError(
          "login_needed",
          `${deps.engine} needs a login (${ways.join(", ") || "and offers no way to log in"})`,
          {
            cause: error,
          },
        );
      await orEnded(
        within(program.agent.request("authenticate", { methodId: deps.auth }), "authenticate"),
        program.ended,
      );
      return attempt();
    }
  };

  const setOption = async (id: string, value: string | boolean): Promise<void> => {
    if (!opened) return;
    const { program, session: sessionId, mapper } = opened;
    const option = mapper.options.find((one) => one.id === id);
    if (!option || option.value === value) return;
    const { agent, ended } = program;
    const request = (method: string, params: object) =>
      orEnded(within(agent.request(method as never, { sessionId, ...params } as never), method), ended);
    const setter = mapper.setterOf(id);
    const type = typeof value === "boolean" ? { type: "boolean" } : {};
    if (setter) await request(setter, { [setter === "session/set_mode" ? "modeId" : "modelId"]: value });
    else await request("session/set_config_option", { configId: id, ...type, value });
    emit(mapper.chose(id, value));
  };

  const setChosen = async ({ settings }: Turn): Promise<void> => {
    for (const [id, value] of Object.entries(settings.options)) {
      if (!id.startsWith(ENGINE_OPTION)) continue;
      const own = id.slice(ENGINE_OPTION.length);
      await setOption(own, value).catch((error: Error) =>
        emit([notice(`${deps.engine} did not accept ${own} = ${value}: ${error.message}`)]),
      );
    }
  };

  const prompt = async (turn: Turn, context: AgentContext, past: string | null): Promise<AgentEvent[]> => {
    const { program, session, mapper } = opened!;
    mapper.beginTurn();
    emit([{ type: "step_start", metadata: { step: 1 } }]);
    const spentBefore = mapper.spent.costUsd;
    let kill: NodeJS.Timeout | undefined;
    const onCancel = () => {
      program.agent.cancel(session);
      kill = setTimeout(() => void program.end(), limits.cancelMs);
    };
    if (context.signal.aborted) onCancel();
    else context.signal.addEventListener("abort", onCancel, { once: true });
    try {
      const content = promptOf(turn, past, program.agent.about.agentCapabilities);
      const asked = program.agent.request("session/prompt", { sessionId: session, prompt: content });
      const answer = await orEnded(asked, program.ended);
      return [
        ...mapper.endOpen("the engine did not report the end of this call"),
        usageOf(mapper, turn.settings.spentUsd - spentBefore, (answer as { readonly usage?: unknown }).usage),
        { type: "step_end", metadata: { step: 1 } },
        { type: "turn_end", metadata: { stop_reason: answer.stopReason } },
      ];
    } finally {
      clearTimeout(kill);
      context.signal.removeEventListener("abort", onCancel);
    }
  };

  const remember = (turn: Turn, { session }: AgentContext): Promise<void> => {
    const owned = { engine: deps.engine, owner: deps.sessionId, session: opened!.session };
    return session.remember(writeMemory(owned, [...turn.seen, turn.number], opened!.program.pid));
  };

  const work = async (turn: Turn, context: AgentContext): Promise<void> => {
    const isMine = createAttribution(context.workspace.cwd, () => opened?.mapper.turnCalls() ?? []);
    // Scanning a large workspace for the first time takes seconds, and so does starting most engines, so do both at once.
    const watching = context.workspace.willRun(deps.engine, { mine: isMine });
    watching.catch(() => {});
    const past = await open(turn, context);
    // This is written during the scan. The engine is prompted when both are done.
    const remembered = remember(turn, context);
    remembered.catch(() => {});
    await setChosen(turn);
    const ran = await watching;
    await remembered;
    const last = await prompt(turn, context, past);
    for (const state of opened?.mapper.turnCalls() ?? [])
      if (isUnasked(state)) await context.ask({ ...describe(state), unasked: true });
    const left = await ran();
    if (left.length > 0) emit([notice(changedByOthers(left))]);
    emit(last);
  };

  return {
    /** Sets one of the engine's own options if its session is open. */
    set: setOption,
    run: (turn: Turn, context: AgentContext) =>
      createOutbox<AgentEvent>(
        async (outbox) => {
          ourSession = context.session;
          await answered;
          const current: RunningTurn = { outbox, context };
          running = current;
          const worked = work(turn, context).finally(() => {
            if (running === current) running = null;
          });
          answered = worked.catch(() => {});
          await worked.catch((error: unknown) => Promise.reject(readable(error, deps.engine)));
        },
        () => {},
      ),

    async close() {
      const { program, session } = opened ?? {};
      const canClose =
        program?.agent.about.agentCapabilities.sessionCapabilities.close != null && !program.ended.aborted;
      if (program && session !== undefined && canClose)
        await within(program.agent.request("session/close", { sessionId: session }), "session/close", 1000).catch(
          () => {},
        );
      leave();
    },
  };
}

// --- internal ---

interface Opened extends Lease {
  readonly session: string;
  readonly mapper: Mapper;
  isReplaying: boolean;
}

interface RunningTurn {
  readonly outbox: Outbox<AgentEvent>;
  readonly context: AgentContext;
}

/** The error code with which an agent asks for a login. */
const LOGIN_NEEDED = -32000;
/** Kinds of updates about the present state of a session and not about its past messages. */
const STATE_KINDS: ReadonlySet<string> = new Set([
  "available_commands_update",
  "current_mode_update",
  "config_option_update",
  "usage_update",
]);

function notice(text: string): AgentEvent {
  return { type: "notice", metadata: { level: "warning", text } };
}

function whyRetold(engine: string, memory: Memory | null, isSamePast: boolean, reasons: readonly string[]): string {
  const why = !memory
    ? `${engine} has not seen this conversation`
    : !isSamePast
      ? "the conversation was changed (undone, cleared, forked or continued elsewhere)"
      : `${engine} could not restore its session${reasons.length > 0 ? ` (${reasons.join("; ")})` : ""}`;
  return `${why}, so a new session of it received the conversation so far as text`;
}

function changedByOthers(paths: readonly string[]): string {
  const named = paths.slice(0, 5).join(", ");
  const more = paths.length > 5 ? ` and ${paths.length - 5} more` : "";
  return `files that the engine did not change have changed during the turn: ${named}${more}; undo leaves them alone`;
}

function readable(error: unknown, engine: string): Error {
  if (!isRpcError(error)) return error as Error;
  const details = (error.data as { details?: unknown; message?: unknown } | null | undefined) ?? {};
  const more = [details.details, details.message].find((text) => typeof text === "string");
  return new EngineError("refused", `${engine}: ${error.message}${more ? `: ${more}` : ""}`, { cause: error });
}
