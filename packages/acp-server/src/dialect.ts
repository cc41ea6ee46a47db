/**
 * A dialect is data: what it answers to `initialize`, its method rows, how it shows a session's log, and how it tells of
 * errors. The connection chooses one and then knows no more about it.
 */
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Entry, EventStore } from "@chimera/event-store";
import type { Connection, MapError, Methods } from "@chimera/ndjson-rpc";
import type { Session, SessionError, Sessions, SlashPalette, Summary } from "@chimera/session";
import type { OpenSessions } from "./open-sessions.js";

export interface ProgramInfo {
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly description?: string;
}

/** A model a client may choose. */
export interface ModelInfo {
  readonly id: string;
  readonly name: string;
}

/** What every dialect is built from. */
export interface DialectContext {
  readonly connection: Connection;
  readonly sessions: Sessions;
  readonly open: OpenSessions;
  readonly program: ProgramInfo;
  readonly models: () => readonly ModelInfo[];
  readonly agents: () => readonly { readonly name: string; readonly description: string }[];
  readonly palette: SlashPalette;
  readonly defaultCwd: string;
  /** The environment variables that hold model keys, named to whoever must set one. */
  readonly keyVariables: readonly string[];
  readonly log: (message: string, fields?: Record<string, unknown>) => void;
  readonly store: (id: string) => EventStore<SessionEvent, Summary>;
}

export interface OpenedDialect {
  /** The result of `initialize`. */
  readonly welcome: object;
  readonly methods: Methods;
  readonly mapError: MapError;
  /** How this dialect shows one session; made once per open session. */
  view(session: Session): SessionView;
}

/** One session as a dialect shows it: frames for its records, and what ends a prompt. */
export interface SessionView {
  /** Encoded lines for one record, in order. `own` tells that this connection sent the turn's prompt. */
  frames(entry: Entry<SessionEvent>, own: boolean): readonly string[];
  /** The answer to the prompt of a turn, read when its last record passes. */
  answer(turn: number): { readonly result: object } | { readonly error: SessionError | Error };
  /** Told of each record after its frames went out: where permissions are asked and withdrawn. */
  after?(entry: Entry<SessionEvent>): void;
  close?(): void;
}

export type Dialect = (context: DialectContext, params: Record<string, unknown>, revision2: boolean) => OpenedDialect;
