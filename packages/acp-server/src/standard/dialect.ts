/** Standard ACP v1: what editors speak. The rows are loaded behind the answer to `initialize`. */
import type { Dialect, DialectContext } from "../dialect.js";
import { lazyMethods } from "../row.js";
import { standardError } from "../wire-error.js";

const VERSION = 1;

const METHODS = [
  "authenticate",
  "logout",
  "session/new",
  "session/load",
  "session/resume",
  "session/list",
  "session/fork",
  "session/close",
  "session/delete",
  "session/prompt",
  "session/cancel",
  "session/set_mode",
  "session/set_config_option",
  "session/set_model",
  "session/set_title",
];

const EXTENSION_METHODS = ["session/replay", "session/undo", "session/redo"].map((name) => `_chimera.dev/${name}`);

export const standardDialect: Dialect = {
  name: "acp",
  methodNames: METHODS,
  open(context, hello) {
    // Whoever says hello asks for a session next. Should this fail, that call says why.
    setImmediate(() => void import("./rows.js").catch(() => {}));
    return {
      welcome: welcome(context),
      methods: lazyMethods([...METHODS, ...EXTENSION_METHODS], async () => {
        const { standardMethods } = await import("./rows.js");
        return standardMethods(context, hello);
      }),
      mapError: standardError,
    };
  },
};

// --- internal ---

function welcome({ program, keyVariables }: DialectContext): object {
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
      _meta: { "chimera.dev/methods": EXTENSION_METHODS },
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
