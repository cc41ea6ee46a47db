/** A dialect is data: what it answers to `initialize`, its method rows, and how it tells of errors. */
import type { Connection, MapError } from "@chimera/ndjson-rpc";
import type { Session } from "@chimera/session";
import type { Core, OfferedModes, SessionOption } from "./core.js";
import type { Rows } from "./row.js";

export interface ProgramInfo {
  readonly name: string;
  readonly title: string;
  readonly version: string;
}

/** What every dialect and every extension is built from. */
export interface ConnectionContext {
  readonly connection: Connection;
  readonly core: () => Promise<Core>;
  /** Calls back when the peer has gone; at once when it has. */
  readonly onLeave: (leave: () => void) => void;
  /** Where the client goes on in sessions that it has not opened yet: the number of the last record it has. */
  readonly cursors: Map<string, number>;
  /** Calls back when the client is to be sent everything after a record of a session again. */
  readonly onRewind: (rewind: (sessionId: string, seq: number) => void) => void;
  readonly onReaderError: (error: unknown, sessionId: string) => void;
  /** Called with what a person should know, for the program's own log: not every client shows it. */
  readonly onNotice: (text: string, sessionId: string) => void;
  readonly program: ProgramInfo;
  readonly defaultCwd: string;
  /** What this connection's prompts, answers and changes carry in the log; undefined for the session's own client. */
  readonly origin: string | undefined;
  /** The environment variables that hold model keys, for the person who must set one. */
  readonly keyVariables: readonly string[];
}

/** What a program adds to the protocol without touching it: config options in standard ACP, rows and flags in its own dialect. */
export interface Extension {
  readonly name: string;
  readonly options?: readonly SessionOption[];
  /** The modes of standard ACP, where more than the approval flags says what runs without asking. */
  modes?(session: Session): OfferedModes;
  /** Flags of the native `capabilities` block. */
  readonly capabilities?: Readonly<Record<string, boolean>>;
  /** Rows of the native dialect, loaded with the first call. */
  methods?(context: ConnectionContext): Promise<Rows>;
}

export interface DialectContext extends ConnectionContext {
  readonly extensions: readonly Extension[];
  /** Updates that a native client can go back to, per session. */
  readonly historyLimit: number;
  /** What the channel can do that stdio cannot, for `initialize` to say. */
  readonly transport: object | undefined;
}

export interface OpenedDialect {
  /** The result of `initialize`. */
  readonly welcome: object;
  /** Called once. */
  readonly rows: () => Promise<Rows>;
  readonly mapError: MapError;
}

export interface Dialect {
  readonly name: string;
  /** What a native dialect calls its version. One without is standard ACP. */
  readonly version?: string;
  /** Method names of this dialect, to hint at it when another is spoken. */
  readonly methodNames: () => Promise<readonly string[]>;
  open(context: DialectContext, params: Record<string, unknown>, revision2: boolean): OpenedDialect;
}
