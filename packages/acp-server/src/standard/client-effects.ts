/** The editor's files and terminal in the place of this machine's, for what the client said it offers. */
import type {
  ClientCapabilities,
  CreateTerminalResponse,
  ReadTextFileResponse,
  TerminalOutputResponse,
  WaitForTerminalExitResponse,
} from "@chimera/acp-schema";
import { type Connection, isConnectionError } from "@chimera/ndjson-rpc";
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
  const ask: Ask = (method, params, options) =>
    connection.request(method, { sessionId, ...params }, options).catch((error) => {
      if (isConnectionError(error) && error.code === "closed") effects.gone = true;
      throw error;
    });
  if (fs?.readTextFile) {
    effects.readText = async (path) => ((await ask("fs/read_text_file", { path })) as ReadTextFileResponse).content;
  }
  if (fs?.writeTextFile) {
    effects.writeText = async (path, content) => {
      await ask("fs/write_text_file", { path, content });
    };
  }
  if (terminal) effects.terminal = clientTerminal(ask);
  return Object.keys(effects).length > 0 ? effects : undefined;
}

// --- internal ---

type Ask = (method: string, params: object, options?: { readonly signal?: AbortSignal }) => Promise<unknown>;

function clientTerminal(ask: Ask): ClientTerminal {
  return {
    async run({ command, args, cwd, env, timeoutMs, signal, onStart }) {
      const { terminalId } = (await ask("terminal/create", {
        command,
        ...(args && { args }),
        ...(cwd !== undefined && { cwd }),
        ...(env && { env: Object.entries(env).map(([name, value]) => ({ name, value })) }),
        outputByteLimit: OUTPUT_BYTES,
      })) as CreateTerminalResponse;
      onStart(terminalId);
      const terminal = { terminalId };
      const limit = limited(signal, timeoutMs);
      try {
        const exit = (await ask("terminal/wait_for_exit", terminal, { signal: limit.signal }).catch(async (error) => {
          if (!limit.signal.aborted) throw error;
          await ask("terminal/kill", terminal);
          return {};
        })) as WaitForTerminalExitResponse;
        const shown = (await ask("terminal/output", terminal)) as TerminalOutputResponse;
        return {
          output: shown.output,
          truncated: shown.truncated,
          exitCode: exit.exitCode ?? null,
          signal: exit.signal ?? null,
          timedOut: limit.signal.aborted && !signal.aborted,
        };
      } finally {
        limit.dispose();
        await ask("terminal/release", terminal).catch(() => {});
      }
    },
  };
}

/** Aborts with the signal or after the time; a timer of our own, because a garbage collection can lose the built-in one. */
function limited(signal: AbortSignal, ms: number): { readonly signal: AbortSignal; dispose(): void } {
  const limit = new AbortController();
  const stop = () => limit.abort();
  const timer = setTimeout(stop, ms);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  return {
    signal: limit.signal,
    dispose() {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    },
  };
}
