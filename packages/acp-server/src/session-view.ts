/** Defines how a dialect shows one session. */
import type { TurnView } from "@chimera/acp-schema/conversation";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Entry, LogEntry } from "@chimera/event-store";
import type { ClientEffects, Session } from "@chimera/session";

/** A dialect's view of one session: frames for its records, and answers to its prompts. */
export interface SessionView {
  /** Called before an entry that does not follow the one shown before: the first one, or the first of some shown again. */
  begin?(seq: number): Promise<void>;
  /** Encoded lines for one entry, in order. `isOwnPrompt`: this connection sent the prompt of the turn that the entry begins or ends. */
  frames(entry: LogEntry<SessionEvent>, isOwnPrompt: boolean): readonly string[];
  /** The answer to the prompt of a turn, made when its last record was sent. Null if the turn failed, so that the request fails. */
  answer(stopReason: string, turn: TurnView | undefined): object | null;
  /** Called with each record after its frames were sent. The view asks for permissions and withdraws them here. */
  after?(entry: Entry<SessionEvent>): void;
  /** Actions that the client performs instead of this machine. */
  readonly effects?: ClientEffects;
  /** Called when the session was loaded again. */
  reloaded?(session: Session): void;
  close?(): void;
}
