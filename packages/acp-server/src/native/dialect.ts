/** The native dialects, otter's and ferret's: one set of rows and two projections. The rows are loaded with the first call. */
import type { Dialect, DialectContext } from "../dialect.js";
import type { NativeProjection } from "../project/otter.js";
import { nativeError } from "../wire-error.js";

export interface NativeDialectOptions {
  readonly name: string;
  /** The protocol version in the answer to a client that does not ask for revision 2. */
  readonly version: string;
  readonly projection: () => Promise<NativeProjection>;
}

/**
 * Makes a program's own dialect from the native rows, with its name, its version and its projection of records.
 *
 * @example
 * const mine = nativeDialect({ name: "mine", version: "0.1", projection: async () => projection });
 */
export function nativeDialect({ name, version, projection }: NativeDialectOptions): Dialect {
  return {
    name,
    version,
    methodNames: async () => Object.keys((await import("./methods.js")).METHODS),
    open: (context, _hello, revision2) => ({
      welcome: welcome(context, revision2 ? 2 : version),
      async rows() {
        const [{ nativeMethods }, projects, ...added] = await Promise.all([
          import("./rows.js"),
          projection(),
          ...context.extensions.map((extension) => extension.methods?.(context)),
        ]);
        return Object.assign({}, nativeMethods(context, projects), ...added);
      },
      mapError: nativeError(context.transport === undefined && context.origin === undefined),
    }),
  };
}

export const otterDialect: Dialect = nativeDialect({
  name: "otter",
  version: "0.1",
  projection: async () => (await import("../project/otter.js")).otterProjection,
});

export const ferretDialect: Dialect = nativeDialect({
  name: "ferret",
  version: "0.2",
  projection: async () => (await import("../project/ferret.js")).ferretProjection,
});

// --- internal ---

/** The answer to `initialize`. It carries both documented capability blocks, for clients written against either document. */
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
