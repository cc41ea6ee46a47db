/** Starts an engine's program and connects to it, and passes its messages to the listeners of its sessions. */

import { spawn } from "node:child_process";
import { setTimeout } from "node:timers/promises";
import type {
  CreateElicitationRequest,
  CreateElicitationResponse,
  Implementation,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from "@chimera/acp-schema";
import { endOf } from "@chimera/acp-schema/text";
import { connectAgent, type UnknownUpdate, within } from "./connect-agent.js";
import { DECLINED } from "./elicitation.js";
import { EngineError } from "./errors.js";
import { limits } from "./limits.js";

/** How to start an engine's program. */
export interface ProgramStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** The parts of a child process that an engine uses. Its streams deliver bytes. */
export interface ChildProgram {
  readonly pid: number | undefined;
  readonly stdin: NodeJS.WritableStream;
  readonly stdout: NodeJS.ReadableStream;
  readonly stderr: NodeJS.ReadableStream;
  /** Resolves when the process has ended, with a short description of how. */
  readonly gone: Promise<string>;
  /** Ends the process and its children. */
  end(): Promise<void>;
}

/** Handles an engine's messages about one of its sessions. */
export interface SessionListener {
  onUpdate(update: UnknownUpdate): void;
  onPermission(asked: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse>;
  onElicitation(asked: CreateElicitationRequest): Promise<CreateElicitationResponse>;
}

export type EngineProgram = Awaited<ReturnType<typeof startProgram>>;

export async function startProgram(
  name: string,
  child: ChildProgram,
  client: Implementation,
  onTrouble: (text: string) => void,
) {
  const listeners = new Map<string, SessionListener>();
  /** Updates of sessions that have no listener yet, because the answer to `session/new` has not arrived or was not processed yet. */
  const early = new Map<string, UnknownUpdate[]>();
  const lastLine = tailOf(child.stderr, onTrouble);
  const ended = new AbortController();
  const reportEnd = (how: string) => {
    const words = lastLine();
    ended.abort(new EngineError("ended", `${name} ended (${how})${words === "" ? "" : `: ${words}`}`));
  };
  void child.gone.then(reportEnd);
  try {
    const connecting = connectAgent({
      input: child.stdout as never,
      output: child.stdin as never,
      client,
      onError: (error) => onTrouble(`${name}: ${String(error)}`),
      onUpdate(sessionId, update) {
        const listener = listeners.get(sessionId);
        if (listener) return listener.onUpdate(update);
        const waiting = early.get(sessionId) ?? [];
        if (waiting.length < limits.early) early.set(sessionId, [...waiting, update]);
        // Updates of sessions that never get a listener must not fill the memory.
        if (early.size > limits.early) early.delete(early.keys().next().value!);
      },
      async onPermission(asked, signal) {
        const listener = listeners.get(asked.sessionId);
        return listener ? listener.onPermission(asked, signal) : { outcome: { outcome: "cancelled" } };
      },
      async onElicitation(asked) {
        const { sessionId } = asked as { readonly sessionId?: string };
        return listeners.get(sessionId ?? "")?.onElicitation(asked) ?? DECLINED;
      },
    });
    const agent = await orEnded(connecting, ended.signal);
    // A program may outlive its connection, for example when a wrapper that started it has ended.
    void agent.closed.then(async () => {
      await Promise.race([child.gone, setTimeout(limits.goneMs)]);
      reportEnd("it closed its connection");
      await child.end();
    });
    return {
      agent,
      pid: child.pid,
      /** Aborted when the program has ended. The reason is an `EngineError` that quotes the last line of its stderr. */
      ended: ended.signal as AbortSignal,
      listen(sessionId: string, listener: SessionListener) {
        listeners.set(sessionId, listener);
        for (const update of early.get(sessionId) ?? []) listener.onUpdate(update);
        early.delete(sessionId);
      },
      forget: (sessionId: string) => void listeners.delete(sessionId),
      /** Stops or resumes reading the program's output. */
      pause: (isFull: boolean) => void (isFull ? child.stdout.pause() : child.stdout.resume()),
      end: async () => {
        await within(agent.close(), "close", 1000).catch(() => {});
        await child.end();
      },
    };
  } catch (error) {
    await child.end();
    throw error instanceof EngineError
      ? error
      : new EngineError("start_failed", `${name} could not be started: ${(error as Error).message}`, { cause: error });
  }
}

/** Rejects as soon as the program has ended. */
export async function orEnded<T>(answer: Promise<T>, ended: AbortSignal): Promise<T> {
  let onAbort = () => {};
  const gone = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(ended.reason);
    if (ended.aborted) onAbort();
    else ended.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([answer, gone]);
  } catch (error) {
    // A connection closes a moment before its process ends, and the error of the process says more.
    if ((error as { code?: unknown }).code === "closed") await Promise.race([gone, setTimeout(2 * limits.goneMs)]);
    throw error;
  } finally {
    ended.removeEventListener("abort", onAbort);
  }
}

/** How long a program may take to end after SIGTERM. */
const GRACE_MS = 500;

/** Starts a child in a process group of its own, which `end` kills as a whole. */
export function startChild({ command, args, env, cwd }: ProgramStart): ChildProgram {
  const isWindows = process.platform === "win32";
  const child = spawn(command, [...args], { cwd, env, detached: !isWindows, stdio: "pipe", windowsHide: true });
  child.stdin.on("error", () => {});
  const gone = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const kill = (signal: NodeJS.Signals) => {
    if (child.pid === undefined) return;
    try {
      if (isWindows) spawn("taskkill", ["/pid", String(child.pid), "/T", "/F"], { stdio: "ignore" });
      else process.kill(-child.pid, signal);
    } catch {
      // The group has no processes left.
    }
  };
  return {
    pid: child.pid,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    gone,
    async end() {
      kill("SIGTERM");
      await Promise.race([gone, setTimeout(GRACE_MS, undefined, { ref: false })]);
      kill("SIGKILL");
      await gone;
    },
  };
}

// --- internal ---

/** Logs a program's stderr, and returns a function for its last line. */
function tailOf(stderr: NodeJS.ReadableStream, onLine: (text: string) => void): () => string {
  let tail = "";
  stderr.on("data", (chunk: Buffer) => {
    const text = String(chunk);
    onLine(endOf(text, limits.stderrBytes).trimEnd());
    tail = endOf(tail + text, limits.stderrBytes);
  });
  stderr.on("error", () => {});
  return () => tail.trim().split("\n").at(-1)?.trim() ?? "";
}
