/** How a dialect shows one session. */
import type { TurnView } from "@chimera/acp-schema/conversation";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Entry, LogEntry } from "@chimera/event-store";
import type { ClientEffects, Session } from "@chimera/session";

/** One session as a dialect shows it: frames for its records, and what ends a prompt. */
export interface SessionView {
  /** Called when the next entry does not follow the one before it: the first is shown, or some are shown again. */
  begin?(seq: number): Promise<void>;
  /** Encoded lines for one entry, in order. `own` tells that this connection sent the turn's prompt. */
  frames(entry: LogEntry<SessionEvent>, own: boolean): readonly string[];
  /** The answer to the prompt of a turn, made when its last record passes; null when the turn failed and so does the request. */
  answer(stopReason: string, turn: TurnView | undefined): object | null;
  /** Called with each record after its frames went out: permissions are asked and withdrawn here. */
  after?(entry: Entry<SessionEvent>): void;
  /** What the client does in this machine's place. */
  readonly effects?: ClientEffects;
  /** The session was loaded again. */
  reloaded?(session: Session): void;
  close?(): void;
}
