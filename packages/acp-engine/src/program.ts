/** A running engine: the program, the connection to it, and the sessions that it has open for us. */

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

/** How an engine is started. */
export interface ProgramStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** A child process as an engine needs it. Its streams deliver bytes. */
export interface ChildProgram {
  readonly pid: number | undefined;
  readonly stdin: NodeJS.WritableStream;
  readonly stdout: NodeJS.ReadableStream;
  readonly stderr: NodeJS.ReadableStream;
  /** Resolves when the process is gone, with a few words on how it ended. */
  readonly gone: Promise<string>;
  /** Ends it with everything it started. */
  end(): Promise<void>;
}

/** What becomes of what an engine says about one of its sessions. */
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
  /** Updates of a session whose `session/new` is not yet answered, or whose answer was not yet looked at. */
  const early = new Map<string, UnknownUpdate[]>();
  const lastWords = tailOf(child.stderr, onTrouble);
  const ended = new AbortController();
  const sayEnded = (how: string) => {
    const words = lastWords();
    ended.abort(new EngineError("ended", `${name} ended (${how})${words === "" ? "" : `: ${words}`}`));
  };
  void child.gone.then(sayEnded);
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
        if (early.size < limits.early && waiting.length < limits.early) early.set(sessionId, [...waiting, update]);
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
    // A program may live on without its connection: one that was started by another that is gone.
    void agent.closed.then(async () => {
      await Promise.race([child.gone, setTimeout(limits.goneMs)]);
      sayEnded("it closed its connection");
      await child.end();
    });
    return {
      agent,
      pid: child.pid,
      /** Aborted when the program is gone; the reason is an `EngineError` that quotes its last words. */
      ended: ended.signal as AbortSignal,
      listen(sessionId: string, listener: SessionListener) {
        listeners.set(sessionId, listener);
        for (const update of early.get(sessionId) ?? []) listener.onUpdate(update);
        early.clear();
      },
      forget: (sessionId: string) => void listeners.delete(sessionId),
      /** Stops and goes on reading what the program says. */
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
    // The end of a connection is seen a moment before the end of its process, which says more.
    if ((error as { code?: unknown }).code === "closed") await Promise.race([gone, setTimeout(2 * limits.goneMs)]);
    throw error;
  } finally {
    ended.removeEventListener("abort", onAbort);
  }
}

/** How long a program may take to end after its input was closed. */
const GRACE_MS = 500;

/** A child in a process group of its own, which ends with it. */
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
      // Nobody is left in the group.
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

/** Logs each line that a program complains with, and keeps the last for errors. */
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
