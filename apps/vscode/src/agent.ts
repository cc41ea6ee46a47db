/** The agent: a program of its own, spoken to over its stdin and stdout in ferret's dialect, which otter speaks too. */
import { spawn } from "node:child_process";
import { agentMethods, FERRET_PROTOCOL_VERSION, SessionNotification } from "@chimera/acp-schema/ferret";
import { agentMethods as otterMethods } from "@chimera/acp-schema/otter";
import { createConnection, isConnectionError, isRpcError, row } from "@chimera/ndjson-rpc";

export type Update = SessionNotification;
export type Decision = "allow" | "deny" | "always" | "never";

export interface Reply {
  readonly decision: Decision;
  /** The digest of the question, so that the reply counts for it alone. */
  readonly shown?: string | undefined;
  /** To a question that is not about a permission: the words. */
  readonly answer?: string | undefined;
}

export interface AgentOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The folder that the session works in. */
  readonly cwd: string;
  readonly version: string;
  readonly env?: NodeJS.ProcessEnv;
  onUpdate(update: Update): void;
  /** Called with what the program writes about itself. */
  onLog(text: string): void;
  /** Called once, when the program has ended; without a reason when it was asked to. */
  onEnd(reason: string | null): void;
}

export interface Agent {
  readonly sessionId: string;
  /** Sends a prompt or a slash command; resolves when its turn has ended, and rejects with the reason when it failed. */
  say(text: string): Promise<void>;
  cancel(): Promise<void>;
  answer(permissionId: string, reply: Reply): Promise<void>;
  /** Ends the program, and resolves when it has gone. */
  close(): Promise<void>;
}

/** Starts the program and a session. Rejects with words for a person when it does not come to that. */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { command, args, cwd } = options;
  // On Windows a command is often a script, which only a shell starts.
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
  // The exit says why nothing can be written.
  child.stdin.on("error", () => {});

  const connection = createConnection({
    input: child.stdout,
    output: child.stdin,
    // otter welcomes a client of this dialect too, with fewer capabilities.
    peer: { ...agentMethods, initialize: otterMethods.initialize },
    methods: {
      "session/update": row({ params: SessionNotification, handle: (update) => options.onUpdate(update) }),
    },
    // A kind of a later version is passed over.
    onError: (error) => options.onLog(`passed over: ${String(error)}\n`),
  });
  const close = async (): Promise<void> => {
    isClosing = true;
    const timer = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
    await connection.close();
    await ended;
    clearTimeout(timer);
  };
  /** What was asked for, or why the program is gone: its exit says more than the end of its output. */
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
        // Somebody else may have answered, or the turn has ended.
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

/** Characters of stderr that a reason quotes. */
const LONGEST_REASON = 2000;
const GRACE_MS = 3000;
