/** The editor's files and terminal in the place of this machine's, for what the client said it offers. */
import type {
  ClientCapabilities,
  CreateTerminalResponse,
  ReadTextFileResponse,
  TerminalOutputResponse,
  WaitForTerminalExitResponse,
} from "@chimera/acp-schema";
import type { Connection } from "@chimera/ndjson-rpc";
import type { ClientEffects, ClientTerminal } from "@chimera/session";

/** What a terminal keeps of its output, at the client. */
const OUTPUT_BYTES = 1024 * 1024;

export function clientEffects(
  connection: Connection,
  sessionId: string,
  capabilities: ClientCapabilities,
): ClientEffects | undefined {
  const { fs, terminal } = capabilities;
  const effects: { -readonly [K in keyof ClientEffects]: ClientEffects[K] } = {};
  if (fs?.readTextFile) {
    effects.readText = async (path) =>
      ((await connection.request("fs/read_text_file", { sessionId, path })) as ReadTextFileResponse).content;
  }
  if (fs?.writeTextFile) {
    effects.writeText = async (path, content) => {
      await connection.request("fs/write_text_file", { sessionId, path, content });
    };
  }
  if (terminal) effects.terminal = clientTerminal(connection, sessionId);
  return Object.keys(effects).length > 0 ? effects : undefined;
}

// --- internal ---

function clientTerminal(connection: Connection, sessionId: string): ClientTerminal {
  return {
    async run({ command, args, cwd, env, timeoutMs, signal, onStart }) {
      const { terminalId } = (await connection.request("terminal/create", {
        sessionId,
        command,
        ...(args && { args }),
        ...(cwd !== undefined && { cwd }),
        ...(env && { env: Object.entries(env).map(([name, value]) => ({ name, value })) }),
        outputByteLimit: OUTPUT_BYTES,
      })) as CreateTerminalResponse;
      onStart(terminalId);
      const terminal = { sessionId, terminalId };
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      try {
        const exit = (await connection
          .request("terminal/wait_for_exit", terminal, { signal: limit })
          .catch(async (error) => {
            if (!limit.aborted) throw error;
            await connection.request("terminal/kill", terminal);
            return {};
          })) as WaitForTerminalExitResponse;
        const shown = (await connection.request("terminal/output", terminal)) as TerminalOutputResponse;
        return {
          output: shown.output,
          truncated: shown.truncated,
          exitCode: exit.exitCode ?? null,
          signal: exit.signal ?? null,
          timedOut: limit.aborted && !signal.aborted,
        };
      } finally {
        await connection.request("terminal/release", terminal).catch(() => {});
      }
    },
  };
}
