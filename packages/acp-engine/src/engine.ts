/** An ACP program as the engine of sessions: it fits the agent port, and whatever it says becomes records of our log. */
import type { AuthMethodTerminal, Implementation, InitializeResponse } from "@chimera/acp-schema";
import type { Agent } from "@chimera/acp-schema/agent";
import { within } from "./connect-agent.js";
import { EngineError } from "./errors.js";
import { createGuest, type Guest } from "./guest.js";
import { createPool } from "./pool.js";
import { type ChildProgram, orEnded, type ProgramStart, startChild, startProgram } from "./program.js";

export interface AcpEngineOptions extends Omit<ProgramStart, "cwd" | "args" | "env"> {
  /** As people choose it: `codex`. */
  readonly name: string;
  readonly args?: readonly string[];
  /** The whole environment of the program. @defaultValue none */
  readonly env?: Readonly<Record<string, string>>;
  /** The way to log in, out of those that the program names. */
  readonly auth?: string;
  /** How this program introduces itself. */
  readonly client: Implementation;
  /** Starts the program, confined or not. @defaultValue as a child in a process group of its own */
  readonly start?: (program: ProgramStart) => ChildProgram | Promise<ChildProgram>;
  /** Called with what it writes to stderr and with faults of its protocol. */
  readonly onTrouble?: (text: string) => void;
  readonly clock?: () => number;
}

export interface AcpEngine {
  readonly agent: Agent;
  /** Sets an option of the engine's own in a session, at once where it is open. */
  set(sessionId: string, id: string, value: string | boolean): Promise<void>;
  closeSession(sessionId: string): Promise<void>;
  /** Starts the program for a moment to see what it can do. */
  probe(cwd: string): Promise<{ readonly about: InitializeResponse; readonly opened: unknown }>;
  /**
   * Logs in by a way that the program names, or by the first. One that wants a terminal is not started here: what to run in it is
   * returned.
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
  const guests = new Map<string, Guest>();

  const guestOf = (sessionId: string, cwd: string): Guest => {
    const isOurs = (pid: number | undefined) => pids.has(pid);
    const made = { engine: name, sessionId, cwd, pool, auth: options.auth, clock, isOurs };
    const guest = guests.get(sessionId) ?? createGuest(made);
    guests.set(sessionId, guest);
    return guest;
  };

  return {
    agent: (turn, context) => guestOf(turn.sessionId, context.workspace.cwd).run(turn, context),
    set: async (sessionId, id, value) => guests.get(sessionId)?.set(id, value),
    async closeSession(sessionId) {
      const guest = guests.get(sessionId);
      guests.delete(sessionId);
      await guest?.close();
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
            `${name} names ${ways === "" ? "no way to log in" : `these ways to log in: ${ways}`}`,
          );
        }
        const { type, args: more, env: extra } = method as Partial<AuthMethodTerminal> & { readonly type?: unknown };
        if (type === "terminal")
          return { way: method.id, terminal: { command, args: [...args, ...(more ?? [])], env: { ...env, ...extra } } };
        // A person may have to do something in a browser first, so this waits for as long as it takes.
        await orEnded(program.agent.request("authenticate", { methodId: method.id }), program.ended);
        return { way: method.id };
      } finally {
        await program.end();
      }
    },
    async close() {
      guests.clear();
      await pool.close();
    },
  };
}
