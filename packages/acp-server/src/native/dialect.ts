/** The native dialects, otter's and ferret's: one set of rows, two projections. The rows are loaded when first called. */
import type { Dialect, DialectContext } from "../dialect.js";
import type { NativeProjection } from "../project/otter.js";
import { lazyMethods } from "../row.js";
import { nativeError } from "../wire-error.js";

const HISTORY_SIZE = 1024;

const METHODS = [
  "session/new",
  "session/load",
  "session/list",
  "session/get",
  "session/message",
  "session/turn",
  "session/cancel",
  "session/setMode",
  "session/setModel",
  "session/fork",
  "session/resume",
  "permission/respond",
  "tool/approve",
];

export interface NativeDialectOptions {
  readonly name: "otter" | "ferret";
  /** What a client that asks for no revision is answered. @defaultValue the documented one */
  readonly version?: string;
  /** @defaultValue the program's own */
  readonly projection?: () => Promise<NativeProjection>;
  /** Updates kept for `session/resume`, per session. @defaultValue 1024 */
  readonly historyLimit?: number;
}

const DOCUMENTED = {
  otter: { version: "0.1", projection: async () => (await import("../project/otter.js")).otterProjection },
  ferret: { version: "0.2", projection: async () => (await import("../project/ferret.js")).ferretProjection },
};

export function nativeDialect(options: NativeDialectOptions): Dialect {
  const { version, projection, historyLimit = HISTORY_SIZE } = { ...DOCUMENTED[options.name], ...options };
  return {
    name: options.name,
    methodNames: METHODS,
    open: (context, _hello, revision2) => ({
      welcome: welcome(context, revision2 ? 2 : version),
      methods: {
        ...lazyMethods(METHODS, async () => {
          const { nativeMethods } = await import("./rows.js");
          return nativeMethods(context, await projection(), historyLimit);
        }),
        ...Object.assign({}, ...context.extensions.map((extension) => extension.methods?.(context) ?? {})),
      },
      mapError: nativeError,
    }),
  };
}

export const otterDialect: Dialect = nativeDialect({ name: "otter" });

export const ferretDialect: Dialect = nativeDialect({ name: "ferret" });

// --- internal ---

/** Carries both documented capability blocks, so that a client of either description finds its own. */
function welcome({ program, extensions }: DialectContext, protocolVersion: string | number): object {
  const { name, version } = program;
  return {
    protocolVersion,
    serverInfo: { name: `${name}-acp`, version },
    agentInfo: { name, version },
    capabilities: {
      sessionFork: true,
      sessionList: true,
      permissionRequest: true,
      thinking: false,
      vision: false,
      ...Object.assign({}, ...extensions.map((extension) => extension.capabilities ?? {})),
    },
    agentCapabilities: {
      promptCapabilities: { text: true },
      sessionCapabilities: { cancel: true, resume: true },
      toolApproval: true,
      eventIds: true,
    },
  };
}
