/** A dialect is data: what it answers to `initialize`, its method rows, and how it tells of errors. */
import type { Connection, MapError, Methods } from "@chimera/ndjson-rpc";
import type { Session } from "@chimera/session";
import type { Core, OfferedModes, SessionOption } from "./core.js";

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
  readonly onReaderError: (error: unknown, sessionId: string) => void;
  /** Called with what a person should know, for the program's own log: not every client shows it. */
  readonly onNotice: (text: string, sessionId: string) => void;
  readonly program: ProgramInfo;
  readonly defaultCwd: string;
  /** What this connection's prompts, answers and changes carry in the log; undefined for the session's own client. */
  readonly origin: string | undefined;
  /** The environment variables that hold model keys, named to whoever must set one. */
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
  /** Rows of the native dialect. */
  methods?(context: ConnectionContext): Methods;
}

export interface DialectContext extends ConnectionContext {
  readonly extensions: readonly Extension[];
}

export interface OpenedDialect {
  /** The result of `initialize`. */
  readonly welcome: object;
  readonly methods: Methods;
  readonly mapError: MapError;
}

export interface Dialect {
  readonly name: string;
  /** Method names of this dialect, to hint at it when another is spoken. */
  readonly methodNames: readonly string[];
  open(context: DialectContext, params: Record<string, unknown>, revision2: boolean): OpenedDialect;
}
