/** The bridge extension: connects the sessions of this program to a remote console, if one is configured. */
import {
  type Bridge,
  type BridgeExit,
  checkRemote,
  isBridgeError,
  type Remote,
  type SessionFacts,
} from "@chimera/bridge";
import { type ExtensionContext, type ProgramExtension, type ServingProgram, UsageError } from "@chimera/host";
import type { Session } from "@chimera/session";
import { createApprovals } from "./approval.js";
import { projectBounds, TOKEN_VARIABLE } from "./settings.js";

/** `hooks` replace the log, for a command whose only transport is the bridge. */
export function createBridgeExtension(hooks: Partial<Pick<BridgesDeps, "report" | "onExit">> = {}): ProgramExtension {
  return {
    name: "bridge",
    start(context) {
      const { log } = context;
      const remote = readRemote(context);
      const onExit: BridgesDeps["onExit"] = ({ code, message }) => {
        if (code !== 0) log.error("the bridge has ended; the sessions continue without it", { reason: message });
      };
      const bounds = projectBounds(context);
      const approvals = createApprovals(bounds);
      const boundsOf: BridgesDeps["boundsOf"] = (session) => ({
        sandbox: bounds.sandbox(session.cwd),
        approval: approvals.of(session),
      });
      const bridges = remote && createBridges({ remote, boundsOf, report: log.info, onExit, ...hooks });
      const status = (sessionId?: string) => bridges?.status(sessionId) ?? { attached: false };
      return {
        protocol: {
          name: "bridge",
          capabilities: { bridge: true },
          methods: async () => (await import("./methods.js")).bridgeStatus(status),
        },
        ...(bridges && { onLoad: bridges.begin, onUnload: bridges.end }),
      };
    },
  };
}

// --- internal ---

interface BridgesDeps {
  readonly remote: Remote;
  /** The bounds of a session, for the remote. */
  readonly boundsOf: (session: Session) => Pick<SessionFacts, "sandbox" | "approval">;
  readonly report: (message: string, fields?: Record<string, unknown>) => void;
  readonly onExit: (exit: BridgeExit) => void;
}

interface Running {
  readonly abort: AbortController;
  bridge: Bridge | null;
  over: Promise<void>;
}

function createBridges({ remote, boundsOf, report, onExit }: BridgesDeps) {
  const running = new Map<string, Running>();

  const run = async (session: Session, program: ServingProgram, entry: Running): Promise<BridgeExit> => {
    // Imported with the first session, because a start that only answers `initialize` does not need it.
    const [{ createBridge }, serve] = await Promise.all([import("@chimera/bridge"), program.acp()]);
    const facts = () => ({ ...factsOf(session), ...boundsOf(session) });
    entry.bridge = createBridge({
      ...remote,
      session: { id: session.id, cwd: session.cwd, facts, attach: program.attach },
      serve,
      log: report,
    });
    return entry.bridge.run(entry.abort.signal);
  };

  return {
    begin(session: Session, program: ServingProgram) {
      const entry: Running = { abort: new AbortController(), bridge: null, over: Promise.resolve() };
      running.set(session.id, entry);
      const failed = (error: unknown): BridgeExit => ({ code: 1, message: `it could not begin: ${String(error)}` });
      entry.over = run(session, program, entry).catch(failed).then(onExit);
    },
    /** Ends a session's bridge. Resolves when the remote knows about it, or after a time limit. */
    async end(sessionId: string) {
      const found = running.get(sessionId);
      found?.abort.abort();
      await found?.over;
      if (running.get(sessionId) === found) running.delete(sessionId);
    },
    /** The status of a session's bridge; without an id, of the first session. */
    status(sessionId?: string) {
      const found = sessionId === undefined ? [...running.values()][0] : running.get(sessionId);
      return found?.bridge?.status() ?? { attached: false };
    },
  };
}

function factsOf(session: Session): Omit<SessionFacts, "sandbox" | "approval"> {
  return {
    model: session.settings.model,
    mode: session.mode,
    costUsd: session.conversation.facts.usage?.total_usd ?? 0,
    lastEventId: session.lastSeq,
  };
}

/** The remote from flags and environment; null without a bridge. Throws a UsageError for an invalid remote. */
function readRemote({ flags, env }: Pick<ExtensionContext, "flags" | "env">): Remote | null {
  const remoteUrl = flags["remote-url"] as string | undefined;
  if (remoteUrl === undefined) {
    if (flags["bridge"]) throw new UsageError("--bridge needs --remote-url <url>");
    return null;
  }
  const token = ((flags["bridge-token"] as string | undefined) ?? env[TOKEN_VARIABLE] ?? "").trim();
  if (token === "") throw new UsageError(`the bridge needs a token: set ${TOKEN_VARIABLE}`);
  const remote: Remote = { remoteUrl, token, insecure: flags["insecure"] === true };
  try {
    checkRemote(remote);
  } catch (error) {
    throw isBridgeError(error) ? new UsageError(`--remote-url: ${error.message}`) : error;
  }
  return remote;
}
