/** Makes an ACP program the engine of sessions: an `Agent` whose events are the program's updates. */
import type { AuthMethodTerminal, Implementation, InitializeResponse } from "@chimera/acp-schema";
import type { Agent } from "@chimera/acp-schema/agent";
import { within } from "./connect-agent.js";
import { createEngineSession, type EngineSession } from "./engine-session.js";
import { EngineError } from "./errors.js";
import { createPool } from "./pool.js";
import { type ChildProgram, orEnded, type ProgramStart, startChild, startProgram } from "./program.js";

export interface AcpEngineOptions extends Omit<ProgramStart, "cwd" | "args" | "env"> {
  /** The name that people choose it by, such as `codex`. */
  readonly name: string;
  readonly args?: readonly string[];
  /** The whole environment of the program. @defaultValue an empty environment */
  readonly env?: Readonly<Record<string, string>>;
  /** The id of one of the program's login methods. */
  readonly auth?: string;
  /** The name and version that this process sends to the engine. */
  readonly client: Implementation;
  /** Starts the program, confined or not. @defaultValue starts it as a child in a process group of its own */
  readonly start?: (program: ProgramStart) => ChildProgram | Promise<ChildProgram>;
  /** Called with the program's stderr and with protocol errors. */
  readonly onTrouble?: (text: string) => void;
  readonly clock?: () => number;
}

export interface AcpEngine {
  readonly agent: Agent;
  /** Sets one of the engine's own options in a session that the engine has open. */
  set(sessionId: string, id: string, value: string | boolean): Promise<void>;
  closeSession(sessionId: string): Promise<void>;
  /** Starts the program briefly to learn what it can do. */
  probe(cwd: string): Promise<{ readonly about: InitializeResponse; readonly opened: unknown }>;
  /**
   * Logs in by one of the program's login methods, by default the first. For a method that needs a terminal, returns the command to run
   * in it.
   */
  login(cwd: string, way?: string): Promise<{ readonly way: string; readonly terminal?: Omit<ProgramStart, "cwd"> }>;
  close(): Promise<void>;
}

/**
 * @example
 * const codex = createAcpEngine({ name: "codex", command: "codex-acp", client: { name: "mine", version: "1.0.0" } });
 * const sessions = createSessions({ agent: codex.agent, prefix: "mine", store, defaults: { model: "none" } });
 */
export function createAcpEngine(options: AcpEngineOptions): AcpEngine {
  const { name, command, client, args = [], env = {}, clock = Date.now } = options;
  const start = options.start ?? startChild;
  const onTrouble = options.onTrouble ?? (() => {});
  const pids = new Set<number | undefined>();
  const launch = async (cwd: string) => {
    const child = await start({ command, args, env, cwd });
    pids.add(child.pid);
    void child.gone.then(() => pids.delete(child.pid));
    return startProgram(name, child, client, onTrouble);
  };
  const pool = createPool(launch, clock);
  const sessions = new Map<string, EngineSession>();

  const sessionOf = (sessionId: string, cwd: string): EngineSession => {
    const isOurs = (pid: number | undefined) => pids.has(pid);
    const made = { engine: name, sessionId, cwd, pool, auth: options.auth, clock, isOurs };
    const session = sessions.get(sessionId) ?? createEngineSession(made);
    sessions.set(sessionId, session);
    return session;
  };

  return {
    agent: (turn, context) => sessionOf(turn.sessionId, context.workspace.cwd).run(turn, context),
    set: async (sessionId, id, value) => sessions.get(sessionId)?.set(id, value),
    async closeSession(sessionId) {
      const session = sessions.get(sessionId);
      sessions.delete(sessionId);
      await session?.close();
    },
    async probe(cwd) {
      const program = await launch(cwd);
      try {
        const opening = within(program.agent.request("session/new", { cwd, mcpServers: [] }), "session/new");
        const opened = await orEnded(opening, program.ended).catch((error: Error) => ({ error: error.message }));
        return { about: program.agent.about, opened };
      } finally {
        await program.end();
      }
    },
    async login(cwd, way) {
      const program = await launch(cwd);
      try {
        const { authMethods } = program.agent.about;
        const method = way === undefined ? authMethods[0] : authMethods.find(({ id }) => id === way);
        if (!method) {
          const ways = authMethods.map(({ id }) => id).join(", ");
          throw new EngineError(
            "refused",
            `${name} offers ${ways === "" ? "no way to log in" : `these ways to log in: ${ways}`}`,
          );
        }
        const { type, args: more, env: extra } = method as Partial<AuthMethodTerminal> & { readonly type?: unknown };
        if (type === "terminal")
          return { way: method.id, terminal: { command, args: [...args, ...(more ?? [])], env: { ...env, ...extra } } };
        // A person may first have to log in with a browser, so this waits without a time limit.
        await orEnded(program.agent.request("authenticate", { methodId: method.id }), program.ended);
        return { way: method.id };
      } finally {
        await program.end();
      }
    },
    async close() {
      sessions.clear();
      await pool.close();
    },
  };
}
