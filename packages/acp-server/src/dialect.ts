/**
 * A dialect is data: what it answers to `initialize`, its method rows, how it shows a session's log, and how it tells of
 * errors. The connection chooses one and then knows no more about it.
 */
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Entry } from "@chimera/event-store";
import type { Connection, MapError, Methods } from "@chimera/ndjson-rpc";
import type { ClientEffects, Session, Sessions, SlashPalette } from "@chimera/session";
import type { Extension } from "./extension.js";
import type { OpenSessions } from "./open-sessions.js";

export interface ProgramInfo {
  readonly name: string;
  readonly title: string;
  readonly version: string;
}

/** A choice a client may show: a model, an agent. */
export interface Choice {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
}

/** The engine behind a connection; loaded when the first session is asked for, so that `initialize` is answered at once. */
export interface Engine {
  readonly sessions: Sessions;
  readonly palette: SlashPalette;
  readonly models: () => readonly Choice[];
  readonly agents: () => readonly Choice[];
}

/** What every dialect is built from. */
export interface DialectContext {
  readonly connection: Connection;
  readonly engine: () => Promise<Engine>;
  readonly open: OpenSessions;
  readonly program: ProgramInfo;
  readonly extensions: readonly Extension[];
  readonly defaultCwd: string;
  /** The environment variables that hold model keys, named to whoever must set one. */
  readonly keyVariables: readonly string[];
}

export interface OpenedDialect {
  /** The result of `initialize`. */
  readonly welcome: object;
  readonly methods: Methods;
  readonly mapError: MapError;
}

/** One session as a dialect shows it: frames for its records, and what ends a prompt. */
export interface SessionView {
  /** Encoded lines for one record, in order. `own` tells that this connection sent the turn's prompt. */
  frames(entry: Entry<SessionEvent>, own: boolean): readonly string[];
  /** The answer to the prompt of a turn, read when its last record passes. */
  answer(turn: number): { readonly result: object } | { readonly error: Error };
  /** Told of each record after its frames went out: where permissions are asked and withdrawn. */
  after?(entry: Entry<SessionEvent>): void;
  /** What the client does in this machine's place. */
  readonly effects?: ClientEffects;
  close?(): void;
}

export interface Dialect {
  readonly name: string;
  /** Method names of this dialect, to hint at it when another is spoken. */
  readonly methodNames: readonly string[];
  open(context: DialectContext, params: Record<string, unknown>, revision2: boolean): OpenedDialect;
}

export type ViewOf = (session: Session) => SessionView;
