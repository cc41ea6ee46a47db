/** What every dialect and every extension is built from. */
import type { Connection } from "@chimera/ndjson-rpc";
import type { ConnectionSessions } from "./connection-sessions.js";
import type { Core } from "./core.js";

export interface ProgramInfo {
  readonly name: string;
  readonly title: string;
  readonly version: string;
}

export interface ConnectionContext {
  readonly connection: Connection;
  readonly core: () => Promise<Core>;
  readonly sessions: ConnectionSessions;
  readonly program: ProgramInfo;
  readonly defaultCwd: string;
  /** What this connection's prompts, answers and changes carry in the log; undefined for the session's own client. */
  readonly origin: string | undefined;
  /** The environment variables that hold model keys, named to whoever must set one. */
  readonly keyVariables: readonly string[];
}
