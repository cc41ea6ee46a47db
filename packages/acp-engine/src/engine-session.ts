/** Drives the session of an engine behind one of our sessions: opens or restores it, prompts it, cancels it and closes it. */
import type { AgentContext, Turn } from "@chimera/acp-schema/agent";
import { ENGINE_OPTION } from "@chimera/acp-schema/conversation";
import type { AgentEvent } from "@chimera/acp-schema/events";
import { createOutbox } from "@chimera/acp-schema/outbox";
import { isRpcError } from "@chimera/ndjson-rpc";
import { createAttribution, isUnasked } from "./call-state.js";
import { EngineError } from "./errors.js";
import { createHearing, type RunningTurn } from "./hearing.js";
import { endOrphan, type Memory, rangesOf, readMemory, writeMemory } from "./memory.js";
import { closeSession, leaveSession, type OpenSession, openSession, setOption } from "./open-session.js";
import { describe } from "./permission.js";
import type { Pool } from "./pool.js";
import { promptEngine, retell } from "./prompt.js";

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
  const { engine, sessionId, cwd } = deps;
  const hearing = createHearing();
  let opened: OpenSession | null = null;
  /** Resolves when the engine has answered the last prompt, because a turn that our session gave up may still run. */
  let answered: Promise<unknown> = Promise.resolve();

  /** Opens a session of the engine that knows the visible conversation, or returns the conversation as text for a new one. */
  const open = async (turn: Turn, { session }: AgentContext): Promise<string | null> => {
    const memory = readMemory(session.recall(), engine);
    const isSamePast = memory?.owner === sessionId && memory.turns === rangesOf(turn.seen);
    if (opened && !opened.program.ended.aborted && isSamePast && opened.id === memory.session) return null;
    if (opened) leaveSession(opened);
    opened = null;
    if (memory && !deps.isOurs(memory.program?.pid)) endOrphan(memory);
    const lease = await deps.pool.take(cwd);
    const { mcpServers } = turn.settings;
    const remembered = isSamePast ? memory.session : null;
    const request = { ...deps, lease, mcpServers, remembered, listenerOf: hearing.listenerOf };
    const found = await openSession(request).catch((error: unknown) => {
      lease.release();
      throw error;
    });
    opened = found.session;
    hearing.emit(opened, found.events);
    if (found.failures === null) return null;
    const past = retell(turn.history);
    if (past !== null) hearing.emit(opened, [notice(whyRetold(engine, memory, isSamePast, found.failures))]);
    return past;
  };

  const work = async (turn: Turn, context: AgentContext): Promise<void> => {
    const isMine = createAttribution(context.workspace.cwd, () => opened?.mapper.calls.ofTurn() ?? []);
    // Scanning a large workspace for the first time takes seconds, and so does starting most engines, so do both at once.
    const watching = context.workspace.willRun(engine, { mine: isMine });
    watching.catch(() => {});
    const past = await open(turn, context);
    const session = opened!;
    // This is written during the scan. The engine is prompted when both are done.
    const owned = { engine, owner: sessionId, session: session.id };
    const seen = [...turn.seen, turn.number];
    const remembered = context.session.remember(writeMemory(owned, seen, session.program.pid));
    remembered.catch(() => {});
    await setChosen(session, turn, engine, hearing.emit);
    const ran = await watching;
    await remembered;
    session.mapper.beginTurn();
    hearing.emit(session, [{ type: "step_start", metadata: { step: 1 } }]);
    const last = await promptEngine(session, turn, past, context.signal);
    for (const state of session.mapper.calls.ofTurn())
      if (isUnasked(state)) await context.ask({ ...describe(state), unasked: true });
    const left = await ran();
    if (left.length > 0) hearing.emit(session, [notice(changedByOthers(left))]);
    hearing.emit(session, last);
  };

  return {
    /** Sets one of the engine's own options if its session is open. */
    async set(id: string, value: string | boolean): Promise<void> {
      if (opened) hearing.emit(opened, await setOption(opened, id, value));
    },
    run: (turn: Turn, context: AgentContext) =>
      createOutbox<AgentEvent>(
        async (outbox) => {
          await answered;
          const running: RunningTurn = { outbox, context };
          hearing.begin(running);
          const worked = work(turn, context).finally(() => hearing.end(running));
          answered = worked.catch(() => {});
          await worked.catch((error: unknown) => Promise.reject(readable(error, engine)));
        },
        () => {},
      ),

    async close() {
      if (opened) await closeSession(opened);
      opened = null;
    },
  };
}

// --- internal ---

/** Sets the engine's options that the person has chosen in our session. */
async function setChosen(session: OpenSession, { settings }: Turn, engine: string, emit: Emit): Promise<void> {
  for (const [id, value] of Object.entries(settings.options)) {
    if (!id.startsWith(ENGINE_OPTION)) continue;
    const own = id.slice(ENGINE_OPTION.length);
    const refused = (error: Error) => [notice(`${engine} did not accept ${own} = ${value}: ${error.message}`)];
    // Emits each change at once, because the engine may report a later one while the next request is under way.
    emit(session, await setOption(session, own, value).catch(refused));
  }
}

type Emit = ReturnType<typeof createHearing>["emit"];

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
