/** Describes a dialect as data: its answer to `initialize`, its method rows and its mapping of errors. */
import type { Connection, MapError } from "@chimera/ndjson-rpc";
import type { Session } from "@chimera/session";
import type { Core, OfferedModes, SessionOption } from "./core.js";
import type { Rows } from "./row.js";

export interface ProgramInfo {
  readonly name: string;
  readonly title: string;
  readonly version: string;
}

/** The parts of a connection that dialects and extensions use. */
export interface ConnectionContext {
  readonly connection: Connection;
  readonly core: () => Promise<Core>;
  /** Calls `leave` when the peer has gone, or at once if it already has. */
  readonly onLeave: (leave: () => void) => void;
  /** By session that the client has not opened yet: the number of the last record it has, after which it continues. */
  readonly cursors: Map<string, number>;
  /** Calls `rewind` when the client must be sent everything after a record of a session again. */
  readonly onRewind: (rewind: (sessionId: string, seq: number) => void) => void;
  readonly onReaderError: (error: unknown, sessionId: string) => void;
  /** Receives notices for people, for the program's own log, because not every client shows them. */
  readonly onNotice: (text: string, sessionId: string) => void;
  readonly program: ProgramInfo;
  readonly defaultCwd: string;
  /** The name that the log gives to this connection's prompts, answers and changes; undefined for the session's own client. */
  readonly origin: string | undefined;
  /** The environment variables that hold model keys, to name them to a person who must set one. */
  readonly keyVariables: readonly string[];
}

/** A program's additions to the protocol: config options and modes in standard ACP, rows and flags in its own dialect. */
export interface Extension {
  readonly name: string;
  readonly options?: readonly SessionOption[];
  /** The modes of standard ACP, for a program where more than the approval flags decides what runs without asking. */
  modes?(session: Session): OfferedModes;
  /** Flags for the `capabilities` block of the native dialect. */
  readonly capabilities?: Readonly<Record<string, boolean>>;
  /** Rows for the native dialect, loaded with the first call. */
  methods?(context: ConnectionContext): Promise<Rows>;
}

export interface DialectContext extends ConnectionContext {
  readonly extensions: readonly Extension[];
  /** How many updates of a session a native client can go back. */
  readonly historyLimit: number;
  /** Abilities of the channel that stdio does not have, which the answer to `initialize` names. */
  readonly transport: object | undefined;
}

export interface OpenedDialect {
  /** The result of `initialize`. */
  readonly welcome: object;
  /** Loads the rows. Called once. */
  readonly rows: () => Promise<Rows>;
  readonly mapError: MapError;
}

export interface Dialect {
  readonly name: string;
  /** The version of a native dialect; absent for standard ACP. */
  readonly version?: string;
  /** The method names of this dialect, for a hint to a client that speaks another one. */
  readonly methodNames: () => Promise<readonly string[]>;
  open(context: DialectContext, params: Record<string, unknown>, revision2: boolean): OpenedDialect;
}
