/** One ACP connection: chooses the dialect at `initialize`, then serves that dialect's table until the peer goes. */
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { EventStore } from "@chimera/event-store";
import {
  type Connection,
  createConnection,
  defineMethods,
  ErrorCode,
  type InputStream,
  type Methods,
  type OutputStream,
  RpcError,
} from "@chimera/ndjson-rpc";
import type { ClientEffects, Session, Sessions, SlashPalette, Summary } from "@chimera/session";
import { chooseDialect, type DialectName } from "./choose-dialect.js";
import type { Dialect, DialectContext, ModelInfo, ProgramInfo } from "./dialect.js";
import { createOpenSessions } from "./open-sessions.js";

export interface AcpServerOptions {
  readonly input: InputStream;
  readonly output: OutputStream;
  readonly sessions: Sessions;
  readonly palette: SlashPalette;
  readonly program: ProgramInfo;
  readonly dialects: Readonly<Record<DialectName, () => Promise<Dialect>>>;
  readonly native: Exclude<DialectName, "acp">;
  readonly nativeVersion: string;
  /** `--acp-dialect`. */
  readonly forced?: DialectName | null;
  readonly models: () => readonly ModelInfo[];
  readonly agents: () => readonly { readonly name: string; readonly description: string }[];
  readonly keyVariables: readonly string[];
  readonly defaultCwd: string;
  readonly log?: (message: string, fields?: Record<string, unknown>) => void;
}

export interface AcpServer {
  /** Resolves when the peer has gone and its last line was taken. */
  readonly closed: Promise<unknown>;
  close(): Promise<void>;
}

export function serveAcp(options: AcpServerOptions): AcpServer {
  const log = options.log ?? (() => {});
  let effectsOf: (session: Session) => ClientEffects | undefined = () => undefined;
  const open = createOpenSessions({
    connection: () => connection,
    effects: (session) => effectsOf(session),
    onError: (error, sessionId) => log("reader failed", { sessionId, error: String(error) }),
  });
  const context = (): DialectContext => ({
    connection,
    sessions: options.sessions,
    open,
    program: options.program,
    models: options.models,
    agents: options.agents,
    palette: options.palette,
    defaultCwd: options.defaultCwd,
    keyVariables: options.keyVariables,
    log,
    store: (id): EventStore<SessionEvent, Summary> => options.sessions.storeOf(id),
  });
  void context;
  void effectsOf;

  const latch = async (params: unknown): Promise<object> => {
    const choice = chooseDialect(params, {
      forced: options.forced ?? null,
      native: options.native,
      nativeVersion: options.nativeVersion,
    });
    if (!choice.ok) throw new RpcError(ErrorCode.invalidParams, choice.message, choice.data);
    const dialect = await options.dialects[choice.dialect]();
    const opened = dialect(context(), (params ?? {}) as Record<string, unknown>, choice.revision2);
    connection.use(opened.methods, opened.mapError);
    return opened.welcome;
  };

  const before: Methods = defineMethods({ initialize: { handle: latch } });
  const connection: Connection = createConnection({
    input: options.input,
    output: options.output,
    methods: before,
    onClose: () => open.closeAll(),
    onError: (error, { method }) => log("unanswered fault", { method, error: String(error) }),
  });
  return { closed: connection.closed, close: () => connection.close() };
}
