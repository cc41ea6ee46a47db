/** Serves one ACP connection: chooses the dialect at `initialize`, then serves that dialect's rows until the peer leaves. */
import {
  type Connection,
  createConnection,
  ErrorCode,
  type LineChannel,
  type MethodRow,
  RpcError,
} from "@chimera/ndjson-rpc";
import type { Sessions } from "@chimera/session";
import { chooseDialect } from "./choose-dialect.js";
import type { Core } from "./core.js";
import type { Dialect, DialectContext, Extension, OpenedDialect, ProgramInfo } from "./dialect.js";
import type { RemoteSession } from "./remote.js";
import type { Rows } from "./row.js";
import { standardDialect } from "./standard/dialect.js";

export interface AcpServerOptions {
  readonly channel: LineChannel;
  /** The sessions, or a function that opens them, together with the choices for clients, on the first request for a session. */
  readonly sessions: Sessions | (() => Promise<Core>);
  readonly program: ProgramInfo;
  /** The dialects that the server speaks. @defaultValue only standard ACP */
  readonly dialects?: readonly Dialect[];
  /** The name of the program's own dialect, for clients that do not speak standard ACP. @defaultValue no dialect of its own */
  readonly native?: string;
  /** The value of `--acp-dialect`. A forced native dialect also serves requests that come before `initialize`. */
  readonly forced?: string | null;
  readonly extensions?: readonly Extension[];
  readonly keyVariables?: readonly string[];
  /** The directory for a native client that does not name one. @defaultValue / */
  readonly defaultCwd?: string;
  /** How many updates of a session a native client can go back. @defaultValue 1024 */
  readonly historyLimit?: number;
  /** Abilities of the channel that stdio does not have, which the answer to `initialize` names. */
  readonly transport?: object;
  /** The peer's name in the log's records, for a peer other than the session's own client. */
  readonly origin?: string;
  /** Limits the peer to this session, with no more rights than the session has. @defaultValue no limits */
  readonly remote?: RemoteSession;
  /** `debug` is called for each request whose params are valid, before its row runs. @defaultValue no log */
  readonly log?: AcpLog;
}

/** Its functions are called as methods, because the loggers of many libraries need their `this`. */
export type AcpLog = Readonly<Record<"debug" | "warn", (message: string, fields?: Record<string, unknown>) => void>>;

export interface AcpServer {
  /** Resolves when the connection has closed and the channel has taken its last line. */
  readonly closed: Promise<unknown>;
  close(): Promise<void>;
  /** Sends everything of a session after a record again, with the answers to prompts, after the channel lost it. */
  rewind(sessionId: string, seq: number): void;
}

const HISTORY_SIZE = 1024;

/**
 * Serves one client over a channel until it leaves.
 *
 * @example
 * const server = serveAcp({
 *   channel: streamChannel(process.stdin, process.stdout),
 *   sessions,
 *   program: { name: "otter", title: "Otter", version: "1.0.0" },
 * });
 * await server.closed;
 */
export function serveAcp(options: AcpServerOptions): AcpServer {
  const { dialects = [standardDialect], native, sessions, forced = null } = options;
  const log: AcpLog["warn"] = (message, fields) => options.log?.warn(message, fields);
  const leaving: (() => void)[] = [];
  let isGone = false;
  const connection: Connection = createConnection({
    channel: options.channel,
    onClose() {
      isGone = true;
      for (const leave of leaving) leave();
    },
    onError: (error, { method }) => log("unanswered fault", { method: method.slice(0, 80), error: String(error) }),
  });
  const cursors = new Map<string, number>();
  let rewind = (id: string, seq: number): void => void cursors.set(id, seq);
  const context: DialectContext = {
    connection,
    cursors,
    onRewind(listener) {
      rewind = listener;
    },
    core: typeof sessions === "function" ? sessions : async () => bareCore(sessions),
    onLeave: (leave) => void (isGone ? leave() : leaving.push(leave)),
    onReaderError: (error, sessionId) => log("reader failed", { sessionId, error: String(error) }),
    onNotice: (text, sessionId) => log(text, { sessionId }),
    program: options.program,
    extensions: options.extensions ?? [],
    defaultCwd: options.defaultCwd ?? "/",
    historyLimit: options.historyLimit ?? HISTORY_SIZE,
    transport: options.transport,
    keyVariables: options.keyVariables ?? [],
    origin: options.origin,
  };
  const byName = (name: string): Dialect => {
    const found = dialects.find((dialect) => dialect.name === name);
    if (!found) throw new Error(`no dialect is called ${JSON.stringify(name)}`);
    return found;
  };
  const ownDialect = native === undefined ? null : byName(native);
  /** The error for a method that the chosen dialect does not have. It names a dialect that does, the program's own first. */
  const missing = async (method: string): Promise<RpcError> => {
    for (const { name, methodNames } of ownDialect ? [ownDialect, ...dialects] : dialects) {
      if (!(await methodNames()).includes(method)) continue;
      return new RpcError(ErrorCode.methodNotFound, "Method not found", {
        method,
        hint: `${method} belongs to the ${name} dialect`,
      });
    }
    return new RpcError(ErrorCode.methodNotFound, "Method not found", { method });
  };
  const tableOf = ({ rows }: OpenedDialect, begin: MethodRow) => {
    const find = lazyRows(async () => guarded(await rows(), options), missing);
    return (method: string) => (method === INITIALIZE ? begin : find(method));
  };

  const speak = (name: string, params: Record<string, unknown>, revision2: boolean): object => {
    const opened = byName(name).open(context, params, revision2);
    connection.use(tableOf(opened, { handle: refuseSecond }), opened.mapError);
    return opened.welcome;
  };

  const initialize = (params: unknown): object => {
    const choice = chooseDialect(params, {
      forced,
      names: dialects.map(({ name }) => name),
      native: ownDialect?.version === undefined ? null : { name: ownDialect.name, version: ownDialect.version },
    });
    if (!choice.ok) throw new RpcError(ErrorCode.invalidParams, choice.message, choice.data);
    return speak(choice.dialect, (params ?? {}) as Record<string, unknown>, choice.revision2);
  };

  // A remote may not offer its own files and terminals.
  const early = guarded({ [INITIALIZE]: { handle: initialize, remote: ["own_hands"] } }, options);
  if (forced !== null && byName(forced).version !== undefined) {
    const opened = byName(forced).open(context, {}, false);
    connection.use(tableOf(opened, early[INITIALIZE]!), opened.mapError);
  } else {
    connection.use(early, undefined, notYet);
  }
  return {
    closed: connection.closed,
    close: () => connection.close(),
    rewind: (id, seq) => rewind(id, seq),
  };
}

// --- internal ---

function bareCore(sessions: Sessions): Core {
  return {
    sessions,
    palette: { commands: [], custom: async () => [] },
    models: () => [],
    agents: async () => [],
  };
}

function notYet(method: string): RpcError {
  return new RpcError(ErrorCode.invalidRequest, `${method} before initialize`);
}

function refuseSecond(): never {
  throw new RpcError(ErrorCode.invalidRequest, "initialize was answered already");
}

const INITIALIZE = "initialize";

/** The same rows, with a line in the log for each call and an error for a remote that may not make it. */
function guarded(rows: Rows, { remote, log }: Pick<AcpServerOptions, "remote" | "log">): Rows {
  const guard = ([name, row]: [string, Rows[string]]) => {
    const handle = async (params: never, context: never) => {
      log?.debug("request", { method: name });
      if (remote) {
        const { requireAllowed } = await import("./remote.js");
        await requireAllowed(remote, { method: name, params, rules: row.remote });
      }
      return row.handle?.(params, context);
    };
    return [name, { ...row, handle }];
  };
  return remote || log ? Object.fromEntries(Object.entries(rows).map(guard)) : rows;
}

/** Finds rows, and loads them with the first call, because `initialize` needs no schemas and no handlers. */
function lazyRows(
  load: () => Promise<Rows>,
  missing: (method: string) => Promise<RpcError>,
): (method: string) => MethodRow {
  let loaded: Promise<Rows> | undefined;
  return (method) => {
    const find = async (): Promise<MethodRow> => {
      loaded ??= load();
      const rows = await loaded;
      if (!Object.hasOwn(rows, method)) throw await missing(method);
      return rows[method]!;
    };
    const validate = async (value: unknown) => (await find()).params?.["~standard"].validate(value) ?? { value };
    return {
      params: { "~standard": { version: 1, vendor: "chimera", validate } },
      handle: async (given, context) => (await find()).handle?.(given as never, context),
    };
  };
}
