/** Takes what an engine says about its session: updates become events, and permissions and forms become questions of our session. */
import type { AgentContext } from "@chimera/acp-schema/agent";
import type { AgentEvent } from "@chimera/acp-schema/events";
import type { Outbox } from "@chimera/acp-schema/outbox";
import { DECLINED, settleElicitation } from "./elicitation.js";
import { limits } from "./limits.js";
import type { OpenSession } from "./open-session.js";
import { CANCELLED, settlePermission } from "./permission.js";
import type { SessionListener } from "./program.js";

export interface RunningTurn {
  readonly outbox: Outbox<AgentEvent>;
  readonly context: AgentContext;
}

export function createHearing() {
  let running: RunningTurn | null = null;
  let ourSession: AgentContext["session"] | null = null;

  /** Sends events to the running turn. Between turns they are recorded without one. */
  const emit = ({ program }: OpenSession, events: readonly AgentEvent[]): void => {
    if (!running) {
      for (const event of events) ourSession?.emit(event);
      return;
    }
    const { outbox } = running;
    const hadRoom = outbox.pending <= limits.waitingEvents;
    for (const event of events) outbox.push(event);
    if (!hadRoom || outbox.pending <= limits.waitingEvents) return;
    program.pause(true);
    void outbox.taken().then(() => program.pause(false));
  };

  return {
    emit,
    begin(turn: RunningTurn): void {
      running = turn;
      ourSession = turn.context.session;
    },
    /** Ends a turn, unless the next one has begun meanwhile. */
    end(turn: RunningTurn): void {
      if (running === turn) running = null;
    },
    listenerOf: (session: OpenSession): SessionListener => ({
      onUpdate(update) {
        // While the engine loads a session it repeats its past, which our log already has.
        if (session.isReplaying && !STATE_KINDS.has(String(update["sessionUpdate"]))) return;
        emit(session, session.mapper.of(update));
      },
      async onPermission(asked) {
        if (!running) return CANCELLED;
        const { outbox, context } = running;
        const { call, events } = session.mapper.calls.asked(asked.toolCall);
        emit(session, events);
        await outbox.taken();
        return settlePermission(call, asked, context.ask);
      },
      async onElicitation(asked) {
        const { toolCallId } = asked as { readonly toolCallId?: string | null };
        const put = running?.context.question;
        return put ? settleElicitation(asked, toolCallId ?? "elicitation", put) : DECLINED;
      },
    }),
  };
}

// --- internal ---

/** Kinds of updates about the present state of a session and not about its past messages. */
const STATE_KINDS: ReadonlySet<string> = new Set([
  "available_commands_update",
  "current_mode_update",
  "config_option_update",
  "usage_update",
]);
