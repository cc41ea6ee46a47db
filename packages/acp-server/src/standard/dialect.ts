/** Standard ACP v1, the protocol of editors. The rows are loaded after the answer to `initialize`. */
import { STANDARD } from "../choose-dialect.js";
import type { Dialect, DialectContext } from "../dialect.js";
import { standardError } from "../wire-error.js";

const VERSION = 1;

export const standardDialect: Dialect = {
  name: STANDARD,
  methodNames: async () => Object.keys((await import("./methods.js")).METHODS),
  open(context, hello) {
    // The client's next call needs the rows, so load them now. If that fails, the call reports the error.
    setImmediate(() => void import("./rows.js").catch(() => {}));
    return {
      welcome: welcome(context),
      rows: async () => (await import("./rows.js")).standardMethods(context, hello),
      mapError: standardError,
    };
  },
};

// --- internal ---

/** The project's own methods. Their names are repeated here because the rows are not loaded yet. */
const OWN_METHODS = ["replay", "undo", "redo"].map((name) => `_chimera.dev/session/${name}`);

function welcome({ program, keyVariables, transport }: DialectContext): object {
  return {
    protocolVersion: VERSION,
    agentInfo: { name: program.name, title: program.title, version: program.version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, audio: false, embeddedContext: true },
      mcpCapabilities: { http: true, sse: false },
      sessionCapabilities: {
        list: {},
        delete: {},
        additionalDirectories: {},
        resume: {},
        close: {},
        fork: {},
        title: {},
      },
      auth: { logout: {} },
      _meta: {
        "chimera.dev/methods": OWN_METHODS,
        ...(transport && { "chimera.dev/transport": transport }),
      },
    },
    authMethods: [
      {
        id: "environment",
        name: "Environment",
        description: `Set one of ${keyVariables.join(", ")} where this agent is started`,
      },
    ],
  };
}
