/** The agent: a separate program. The extension talks to it over stdin and stdout in ferret's dialect, which otter supports too. */
import { spawn } from "node:child_process";
import { agentMethods, FERRET_PROTOCOL_VERSION, SessionNotification } from "@chimera/acp-schema/ferret";
import { agentMethods as otterMethods } from "@chimera/acp-schema/otter";
import { createConnection, isConnectionError, isRpcError, row } from "@chimera/ndjson-rpc";

export type Update = SessionNotification;
export type Decision = "allow" | "deny" | "always" | "never";

export interface Reply {
  readonly decision: Decision;
  /** The digest of the question, so that the reply applies only to that question. */
  readonly shown?: string | undefined;
  /** The answer to a question that is not a permission request. */
  readonly answer?: string | undefined;
}

export interface AgentOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The session's folder. */
  readonly cwd: string;
  readonly version: string;
  readonly env?: NodeJS.ProcessEnv;
  onUpdate(update: Update): void;
  /** Called with the program's log output. */
  onLog(text: string): void;
  /** Called once, when the program has ended; with null if `close` was called. */
  onEnd(reason: string | null): void;
}

export interface Agent {
  readonly sessionId: string;
  /** Sends a prompt or a slash command. Resolves when its turn has ended, or rejects with the reason of a failure. */
  say(text: string): Promise<void>;
  cancel(): Promise<void>;
  answer(permissionId: string, reply: Reply): Promise<void>;
  /** Ends the program. Resolves when it has exited. */
  close(): Promise<void>;
}

/** Starts the program and a session. Rejects with a message for the person. */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { command, args, cwd } = options;
  // On Windows a command is often a script, which only a shell can start.
  const child = spawn(command, [...args], { cwd, env: options.env, shell: process.platform === "win32" });
  let isClosing = false;
  let said = "";
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error: NodeJS.ErrnoException) => {
      const missing = `${command} was not found: set chimera.command to the path that \`which chimera\` prints`;
      resolve(error.code === "ENOENT" ? missing : error.message);
    });
    child.once("close", (code, signal) =>
      resolve(`${command} ended with ${signal ?? code}${said.trim() ? `: ${said.trim()}` : ""}`),
    );
  });
  void ended.then((reason) => options.onEnd(isClosing ? null : reason));
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-LONGEST_REASON);
    options.onLog(text);
  });
  // Ignore write errors, because the exit gives the reason.
  child.stdin.on("error", () => {});

  const connection = createConnection({
    input: child.stdout,
    output: child.stdin,
    // otter accepts a client of this dialect too, with fewer capabilities.
    peer: { ...agentMethods, initialize: otterMethods.initialize },
    methods: {
      "session/update": row({ params: SessionNotification, handle: (update) => options.onUpdate(update) }),
    },
    // Ignore kinds of updates of later versions.
    onError: (error) => options.onLog(`ignored: ${String(error)}\n`),
  });
  const close = async (): Promise<void> => {
    isClosing = true;
    const timer = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
    await connection.close();
    await ended;
    clearTimeout(timer);
  };
  /** Waits for a request. If the connection has closed, rejects with the reason of the program's exit, which says more. */
  const orEnd = <T>(asked: Promise<T>): Promise<T> =>
    asked.catch(async (error) => {
      throw isConnectionError(error) && error.code === "closed" ? new Error(await ended) : error;
    });

  try {
    const hello = {
      protocolVersion: FERRET_PROTOCOL_VERSION,
      clientInfo: { name: "vscode", version: options.version },
      _meta: { "chimera.dev/dialect": "ferret" },
    };
    await orEnd(connection.request("initialize", hello));
    const { sessionId } = await orEnd(connection.request("session/new", { cwd }));
    return {
      sessionId,
      say: async (message) => void (await orEnd(connection.request("session/message", { sessionId, message }))),
      cancel: async () => void (await orEnd(connection.request("session/cancel", { sessionId }))),
      answer: async (id, { decision, shown, answer }) => {
        const said = { ...(shown !== undefined && { shown }), ...(answer !== undefined && { answer }) };
        // Another client may have answered, or the turn has ended.
        await orEnd(connection.request("permission/respond", { sessionId, id, decision, ...said })).catch((error) => {
          if (!isRpcError(error)) throw error;
        });
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

// --- internal ---

/** Most characters of stderr in a reason. */
const LONGEST_REASON = 2000;
const GRACE_MS = 3000;
