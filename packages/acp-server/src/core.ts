/** Defines what a connection serves: sessions, and the settings that a client may choose for them. */
import type { FlagOption, Mode } from "@chimera/acp-schema/conversation";
import type { ReachableSessions, Session, SettingChange, SlashPalette } from "@chimera/session";

/** A choice that a client may show, such as a model or an agent. */
export interface Choice {
  readonly id: string;
  readonly name: string;
  readonly description?: string | undefined;
}

/** A setting of a session with a list of choices. */
export interface SessionOption {
  readonly id: string;
  readonly name: string;
  /** ACP's name for settings of this kind, if it has one. */
  readonly category?: string;
  readonly description?: string;
  readonly choices: readonly Choice[];
  /** Whether the option has an effect with the session's present settings. @defaultValue always */
  offered?(session: Session): boolean;
  current(session: Session): string;
  /** The change that choosing a value makes; null for none. Throws `invalid_setting`. Absent for an option that can only be read. */
  change?(session: Session, value: string): SettingChange | null;
}

/** The modes that have an effect with the session's present settings. Other settings overrule the modes that are left out. */
export interface OfferedModes {
  readonly current: Mode;
  /** One sentence about the effect of each mode. */
  readonly modes: Readonly<Partial<Record<Mode, string>>>;
  /** The approval flags that have an effect. */
  readonly flags: readonly FlagOption[];
}

/** The core that a connection serves. It is loaded with the first request for a session, so that `initialize` is answered at once. */
export interface Core {
  readonly sessions: ReachableSessions;
  readonly palette: Pick<SlashPalette, "commands" | "custom">;
  models(): readonly Choice[];
  /** The agents that a session in this directory can use: built in, the user's and the project's. */
  agents(cwd: string): Promise<readonly Choice[]>;
  /** Settings of sessions besides those that every session has. */
  readonly options?: readonly SessionOption[];
}
