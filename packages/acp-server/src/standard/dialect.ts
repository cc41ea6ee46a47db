/** Standard ACP v1, the protocol of editors. The rows are loaded after the answer to `initialize`. */
import { STANDARD } from "../choose-dialect.js";
import type { Dialect, DialectContext } from "../dialect.js";
import { standardError } from "../wire-error.js";
import type { METHODS } from "./methods.js";

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

type Methods = typeof METHODS;
type Capability = Extract<Methods[keyof Methods], { readonly capability: string }>["capability"];

// The rows are not loaded yet, so what `initialize` says of them is repeated here. The compiler names what is missing.

/** The project's own methods. */
const OWN_METHODS: Readonly<Record<Extract<keyof Methods, `_${string}`>, true>> = {
  "_chimera.dev/session/replay": true,
  "_chimera.dev/session/undo": true,
  "_chimera.dev/session/redo": true,
};

const CAPABILITIES: Readonly<Record<Capability | "additionalDirectories", object>> = {
  list: {},
  delete: {},
  additionalDirectories: {},
  resume: {},
  close: {},
  fork: {},
  title: {},
};

function welcome({ program, keyVariables, transport }: DialectContext): object {
  return {
    protocolVersion: VERSION,
    agentInfo: { name: program.name, title: program.title, version: program.version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, audio: false, embeddedContext: true },
      mcpCapabilities: { http: true, sse: false },
      sessionCapabilities: CAPABILITIES,
      auth: { logout: {} },
      _meta: {
        "chimera.dev/methods": Object.keys(OWN_METHODS),
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
