/** What a connection serves: sessions, and what a client may choose for them. */
import type { FlagOption, Mode } from "@chimera/acp-schema/conversation";
import type { ReachableSessions, Session, SettingChange, SlashPalette } from "@chimera/session";

/** A choice a client may show: a model, an agent. */
export interface Choice {
  readonly id: string;
  readonly name: string;
  readonly description?: string | undefined;
}

/** A setting of sessions that a client picks from choices. */
export interface SessionOption {
  readonly id: string;
  readonly name: string;
  /** How ACP calls settings of its kind, where it does. */
  readonly category?: string;
  readonly description?: string;
  readonly choices: readonly Choice[];
  /** Whether it means anything to the session as it is set. @defaultValue always */
  offered?(session: Session): boolean;
  current(session: Session): string;
  /** What choosing a value changes; null when nothing. Throws `invalid_setting`. Absent for an option that can only be read. */
  change?(session: Session, value: string): SettingChange | null;
}

/** The modes that mean something to a session as it is set: those left out are overruled by something else. */
export interface OfferedModes {
  readonly current: Mode;
  /** What each comes to, in a sentence. */
  readonly modes: Readonly<Partial<Record<Mode, string>>>;
  /** The switches that change anything. */
  readonly flags: readonly FlagOption[];
}

/** The core that a connection serves; loaded when the first session is asked for, so that `initialize` is answered at once. */
export interface Core {
  readonly sessions: ReachableSessions;
  readonly palette: Pick<SlashPalette, "commands" | "custom">;
  models(): readonly Choice[];
  /** The agents a session in that directory can use: built in, the user's and the project's. */
  agents(cwd: string): Promise<readonly Choice[]>;
  /** Settings of sessions besides those that all have. */
  readonly options?: readonly SessionOption[];
}
