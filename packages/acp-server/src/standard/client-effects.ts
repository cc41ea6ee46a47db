/** Uses the editor's files and terminal instead of this machine's, as far as the client offers them. */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import {
  type ClientCapabilities,
  CreateTerminalResponse,
  ReadTextFileResponse,
  TerminalOutputResponse,
  WaitForTerminalExitResponse,
} from "@chimera/acp-schema";
import { startOf } from "@chimera/acp-schema/text";
import { startDeadline } from "@chimera/acp-schema/timer";
import { type Connection, isConnectionError, isRpcError, RpcError } from "@chimera/ndjson-rpc";
import type { ClientEffects, ClientTerminal } from "@chimera/session";
import * as v from "valibot";

/** How much of its output the client keeps for a terminal. */
const OUTPUT_BYTES = 1024 * 1024;

export function clientEffects(
  connection: Connection,
  sessionId: string,
  capabilities: ClientCapabilities,
): ClientEffects | undefined {
  const { fs, terminal } = capabilities;
  const effects: { -readonly [K in keyof ClientEffects]: ClientEffects[K] } = {};
  const ask: Ask = async (method, answer, params, options) => {
    const given = await connection.request(method, { sessionId, ...params }, options).catch((error) => {
      if (isConnectionError(error) && error.code === "closed") effects.gone = true;
      throw isRpcError(error) ? withDetails(error) : error;
    });
    const { success, output, issues } = v.safeParse(answer, given);
    if (!success) throw new Error(`the editor's answer to ${method} is invalid: ${issues[0].message}`);
    return output;
  };
  if (fs?.readTextFile) {
    effects.readText = async (path, signal) => {
      const reading = ask("fs/read_text_file", ReadTextFileResponse, { path }, signal && { signal });
      const { content } = await reading.catch((error) => {
        throw isRpcError(error) && !existsSync(path) ? notThere(path, error) : error;
      });
      return content;
    };
  }
  if (fs?.writeTextFile) {
    effects.writeText = async (path, content) => {
      // Most editors do not make the directory of a file. If this fails to make it, the editor's error says why.
      await mkdir(dirname(path), { recursive: true }).catch(() => {});
      await ask("fs/write_text_file", Anything, { path, content });
    };
  }
  if (terminal) effects.terminal = clientTerminal(ask);
  return Object.keys(effects).length > 0 ? effects : undefined;
}

// --- internal ---

type Ask = <S extends v.GenericSchema>(
  method: string,
  answer: S,
  params: object,
  options?: { readonly signal?: AbortSignal },
) => Promise<v.InferOutput<S>>;

/** The error for a missing file. Each editor refuses one with its own code, and code that makes files looks for `ENOENT`. */
function notThere(path: string, refusal: Error): Error {
  return Object.assign(new Error(`${path} was not found: ${refusal.message}`, { cause: refusal }), {
    code: "ENOENT",
    path,
  });
}

/** Adds the reason to the message: many editors say "Internal error" and put the reason in `data`. */
function withDetails(error: RpcError): RpcError {
  const { data, code, message } = error;
  const details = typeof data === "string" ? data : (data as { details?: unknown } | null | undefined)?.details;
  if (typeof details !== "string" || details === "" || message.includes(details)) return error;
  return new RpcError(code, `the editor says: ${message}: ${startOf(details, LONGEST_REASON)}`, data, { cause: error });
}

const LONGEST_REASON = 1000;

/** For answers without content; some clients send null. */
const Anything = v.unknown();

function clientTerminal(ask: Ask): ClientTerminal {
  return {
    async run({ command, args, cwd, env, timeoutMs, signal, onStart }) {
      const { terminalId } = await ask("terminal/create", CreateTerminalResponse, {
        command,
        ...(args && { args }),
        ...(cwd !== undefined && { cwd }),
        ...(env && { env: Object.entries(env).map(([name, value]) => ({ name, value })) }),
        outputByteLimit: OUTPUT_BYTES,
      });
      onStart(terminalId);
      const terminal = { terminalId };
      const limit = startDeadline(timeoutMs, signal);
      const { signal: ending } = limit;
      try {
        const exit = await ask("terminal/wait_for_exit", WaitForTerminalExitResponse, terminal, {
          signal: ending,
        }).catch(async (error): Promise<WaitForTerminalExitResponse> => {
          if (!ending.aborted) throw error;
          await ask("terminal/kill", Anything, terminal);
          return {};
        });
        const shown = await ask("terminal/output", TerminalOutputResponse, terminal);
        return {
          output: shown.output,
          truncated: shown.truncated,
          exitCode: exit.exitCode ?? null,
          signal: exit.signal ?? null,
          timedOut: ending.aborted && !signal.aborted,
        };
      } finally {
        limit.end();
        await ask("terminal/release", Anything, terminal).catch(() => {});
      }
    },
  };
}
