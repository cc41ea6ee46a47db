/** The bridges of a process: one for each session in memory, begun and ended with it. */
import type { Bridge, BridgeExit, BridgeStatus, Remote, SessionFacts } from "@chimera/bridge";
import type { ServingProgram } from "@chimera/host";
import type { Session } from "@chimera/session";

export interface Bridges {
  begin(session: Session, program: ServingProgram): void;
  /** Resolves when the remote was told, or has had its time. */
  end(sessionId: string): Promise<void>;
  /** Without an id: of the session that came first. */
  status(sessionId?: string): BridgeStatus;
}

export interface BridgesDeps {
  readonly remote: Remote;
  /** What the remote is told of the bounds of a session. */
  readonly boundsOf: (session: Session) => Pick<SessionFacts, "sandbox" | "approval">;
  readonly report: (message: string, fields?: Record<string, unknown>) => void;
  readonly onExit: (exit: BridgeExit) => void;
}

interface Running {
  readonly abort: AbortController;
  bridge: Bridge | null;
  over: Promise<void>;
}

export function createBridges({ remote, boundsOf, report, onExit }: BridgesDeps): Bridges {
  const running = new Map<string, Running>();

  const run = async (session: Session, program: ServingProgram, entry: Running) => {
    // Loaded with the first session: a start that only answers `initialize` does not carry it.
    const [{ createBridge }, serve] = await Promise.all([import("@chimera/bridge"), program.acp()]);
    const facts = () => ({ ...factsOf(session), ...boundsOf(session) });
    entry.bridge = createBridge({
      ...remote,
      session: { id: session.id, cwd: session.cwd, facts, attach: program.attach },
      serve,
      log: report,
    });
    onExit(await entry.bridge.run(entry.abort.signal));
  };

  return {
    begin(session, program) {
      const entry: Running = { abort: new AbortController(), bridge: null, over: Promise.resolve() };
      running.set(session.id, entry);
      entry.over = run(session, program, entry).catch((error) => report("bridge failed", { error: String(error) }));
    },
    async end(sessionId) {
      const found = running.get(sessionId);
      found?.abort.abort();
      await found?.over;
      if (running.get(sessionId) === found) running.delete(sessionId);
    },
    status(sessionId) {
      const found = sessionId === undefined ? [...running.values()][0] : running.get(sessionId);
      return found?.bridge?.status() ?? { attached: false };
    },
  };
}

// --- internal ---

function factsOf(session: Session): Omit<SessionFacts, "sandbox" | "approval"> {
  return {
    model: session.settings.model,
    mode: session.mode,
    costUsd: session.conversation.facts.usage?.total_usd ?? 0,
    lastEventId: session.lastSeq,
  };
}
