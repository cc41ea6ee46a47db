/** One ACP connection: chooses the dialect at `initialize`, then serves that dialect's table until the peer goes. */
import {
  type Connection,
  createConnection,
  ErrorCode,
  type InputStream,
  type Methods,
  mergeMethods,
  type OutputStream,
  RpcError,
} from "@chimera/ndjson-rpc";
import { chooseDialect, type DialectName } from "./choose-dialect.js";
import type { Core } from "./core.js";
import type { Dialect, DialectContext, Extension, ProgramInfo } from "./dialect.js";

export interface AcpServerOptions {
  readonly input: InputStream;
  readonly output: OutputStream;
  readonly core: () => Promise<Core>;
  readonly program: ProgramInfo;
  readonly dialects: Readonly<Record<DialectName, Dialect>>;
  /** The native dialect of this program, and the version it names itself by. */
  readonly native: { readonly name: Exclude<DialectName, "acp">; readonly version: string };
  /** `--acp-dialect`; a forced native dialect also serves requests that come before `initialize`. */
  readonly forced?: DialectName | null;
  readonly extensions?: readonly Extension[];
  readonly keyVariables?: readonly string[];
  readonly defaultCwd: string;
  /** Names whoever is at the other end, when it is not the session's own client; its records carry it. */
  readonly origin?: string;
  /** Called before any row runs, with params that fit; throws to refuse the call. */
  readonly admit?: (method: string, params: unknown) => void;
  readonly log?: (message: string, fields?: Record<string, unknown>) => void;
}

export interface AcpServer {
  /** Resolves when the peer has gone and its last line was taken. */
  readonly closed: Promise<unknown>;
  close(): Promise<void>;
}

/**
 * Serves one client from a pair of streams until it goes.
 *
 * @example
 * const server = serveAcp({
 *   input: process.stdin,
 *   output: process.stdout,
 *   core: async () => ({ sessions, palette, models: () => [], agents: async () => [] }),
 *   program: { name: "otter", title: "Otter", version: "1.0.0" },
 *   dialects: { acp: standardDialect, otter: otterDialect, ferret: ferretDialect },
 *   native: { name: "otter", version: "0.1" },
 *   defaultCwd: process.cwd(),
 * });
 * await server.closed;
 */
export function serveAcp(options: AcpServerOptions): AcpServer {
  const log = options.log ?? (() => {});
  const leaving: (() => void)[] = [];
  let isGone = false;
  const connection: Connection = createConnection({
    input: options.input,
    output: options.output,
    onClose() {
      isGone = true;
      for (const leave of leaving) leave();
    },
    onError: (error, { method }) => log("unanswered fault", { method: method.slice(0, 80), error: String(error) }),
  });
  const context: DialectContext = {
    connection,
    core: options.core,
    onLeave: (leave) => void (isGone ? leave() : leaving.push(leave)),
    onReaderError: (error, sessionId) => log("reader failed", { sessionId, error: String(error) }),
    onNotice: (text, sessionId) => log(text, { sessionId }),
    program: options.program,
    extensions: options.extensions ?? [],
    defaultCwd: options.defaultCwd,
    keyVariables: options.keyVariables ?? [],
    origin: options.origin,
  };
  const { dialects, native } = options;
  /** This program's own dialect last: a method that several have is hinted at under its name. */
  const hints = hintRows([...Object.values(dialects), dialects[native.name]]);

  const speak = (name: DialectName, params: Record<string, unknown>, revision2: boolean): object => {
    const { welcome, methods, mapError } = dialects[name].open(context, params, revision2);
    const table = mergeMethods(hints, admitted(methods, options.admit));
    connection.use(mergeMethods(table, { initialize: { handle: refuseSecond } }), mapError);
    return welcome;
  };

  const initialize = (params: unknown): object => {
    options.admit?.("initialize", params);
    const { forced = null } = options;
    const choice = chooseDialect(params, { forced, native: native.name, nativeVersion: native.version });
    if (!choice.ok) throw new RpcError(ErrorCode.invalidParams, choice.message, choice.data);
    return speak(choice.dialect, (params ?? {}) as Record<string, unknown>, choice.revision2);
  };

  const early: Methods = { initialize: { handle: initialize } };
  if (options.forced && options.forced !== "acp") {
    const { methods, mapError } = dialects[options.forced].open(context, {}, false);
    connection.use(mergeMethods(admitted(methods, options.admit), early), mapError);
  } else {
    connection.use(early, undefined, notYet);
  }
  return { closed: connection.closed, close: () => connection.close() };
}

// --- internal ---

function notYet(method: string): RpcError {
  return new RpcError(ErrorCode.invalidRequest, `${method} before initialize`);
}

function refuseSecond(): never {
  throw new RpcError(ErrorCode.invalidRequest, "initialize was answered already");
}

/** The same rows, each behind the gate. */
function admitted(methods: Methods, admit: AcpServerOptions["admit"]): Methods {
  if (!admit) return methods;
  const rows = Object.entries(methods).map(([name, row]) => {
    const handle = row.handle as (params: unknown, context: unknown) => unknown;
    const gated = (params: unknown, context: unknown) => {
      admit(name, params);
      return handle.call(row, params, context);
    };
    return [name, { ...row, handle: gated }];
  });
  return Object.fromEntries(rows) as Methods;
}

/** Rows that name the dialect a method belongs to; those of the dialect that is spoken take their place. */
function hintRows(dialects: readonly Dialect[]): Methods {
  const rows = dialects.flatMap(({ name, methodNames }) =>
    methodNames.map((method) => {
      const handle = (): never => {
        const hint = `${method} belongs to the ${name} dialect`;
        throw new RpcError(ErrorCode.methodNotFound, "Method not found", { method, hint });
      };
      return [method, { handle }];
    }),
  );
  return Object.fromEntries(rows);
}
