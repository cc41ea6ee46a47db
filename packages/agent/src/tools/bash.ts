/** Bash: runs a command in its own shell, without secrets in its environment. A long command becomes a job of the session. */
import { existsSync } from "node:fs";
import { win32 } from "node:path";
import { StringDecoder } from "node:string_decoder";
import * as v from "valibot";
import type { Bounds, BrokenBounds, Confine } from "../confine-port.js";
import { resolvePath } from "../files/real-path.js";
import type { Tool, ToolContext, ToolOutcome } from "../tool.js";
import { capOutput, defineTool, failure, locate, progress, titleOf } from "./define.js";
import { cleanEnvironment, quietGit, variable } from "./environment.js";
import type { ProcessGroup } from "./process-group.js";

export interface BashOptions {
  /** Commands get variables from here, except secrets. @defaultValue a path and a home only */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** @defaultValue commands are not confined */
  readonly confine?: Confine | undefined;
  /** Milliseconds after which a command without a time limit becomes a job. @defaultValue 60,000 */
  readonly patience?: number;
}

/** Most characters of a command's output that are shown while it runs. */
const MAX_PROGRESS = 256 * 1024;
/** Most characters of a stream that are kept. */
const MAX_KEPT = 16 * 1024 * 1024;
/** The time limit when a command cannot become a job. */
const DEFAULT_TIMEOUT_S = 120;
const PATIENCE_MS = 60_000;
/** How long to wait for a background command before the call returns: most failures happen at once. */
const FIRST_LOOK_MS = 1_000;
const MAX_TIMEOUT_S = 600;

const input = v.object({
  command: v.pipe(v.string(), v.nonEmpty(), v.description("The command line, as for bash -c.")),
  timeout: v.optional(
    v.pipe(
      v.number(),
      v.minValue(0.1),
      v.maxValue(MAX_TIMEOUT_S),
      v.description("Seconds after which it is ended. Left out: after a minute it goes on as a job."),
    ),
  ),
  cwd: v.optional(v.pipe(v.string(), v.description("Where to run it; the workspace when left out.")), "."),
  background: v.optional(
    v.pipe(v.boolean(), v.description("Run it as a job, with input: a server, a watcher.")),
    false,
  ),
});
type BashInput = v.InferOutput<typeof input>;

/**
 * The tool that runs shell commands.
 *
 * @example
 * const bash = createBashTool({ env: process.env });
 */
export function createBashTool(options: BashOptions = {}): Tool<BashInput> {
  const env = cleanEnvironment(options.env);
  const shell = findShell(options.env ?? {});
  const unconfined: Confine = ({ command, env: more }) => ({
    file: shell.file,
    args: shell.args(command),
    env: { ...env, ...more },
  });
  const { confine = unconfined, patience = PATIENCE_MS } = options;
  return defineTool({
    name: "Bash",
    aliases: ["run_command", "shell"],
    description:
      "Run a shell command in the workspace and return its output. It has no input and no terminal, and what it starts with & " +
      "ends with it; a job goes on after the call, until it is stopped or the session ends." +
      (options.confine || shell.name === "bash" ? "" : ` The shell is ${shell.name}.`),
    input,
    kind: "execute",
    parallel: false,
    describe: ({ command, cwd }, workspace) => {
      const reads = [resolvePath(cwd, workspace).path];
      const touches = { reads, writes: [], command, isShell: true };
      return { title: titleOf(command.trim()), locations: [], touches };
    },
    run: async ({ command, timeout, cwd, background }, context) => {
      if (command.includes("\0")) return failure("The command holds a NUL character.");
      const { jobs } = context;
      if (background && !jobs) return failure("Commands cannot be left running here.");
      if (background && jobs?.isFull) return failure(FULL);
      const directory = locate(cwd, context, "reads").path;
      const { workspace } = context;
      const quiet = await quietGit(command, directory, workspace);
      const target = await confine({ command, cwd: directory, workspace, env: quiet });
      if ("refused" in target) {
        report(context, command, target.mode, { reason: target.refused });
        return { success: false, output: target.refused, error: "sandbox_violation" };
      }
      const ran = await workspace.willRun(command).catch((error: unknown) => {
        target.release?.();
        throw error;
      });
      const over = async () => {
        target.release?.();
        await ran();
      };
      let isJob = false;
      try {
        const { spawnGroup } = await import("./process-group.js");
        const bounds = { cwd: directory, ...target, lifeline: true, input: background };
        const group = spawnGroup(target.file, target.args, bounds);
        const output = listen(group, context);
        const ended = watching(target, command, context);
        const wait = background ? FIRST_LOOK_MS : jobs && timeout === undefined ? patience : null;
        const limit = wait ?? (timeout ?? DEFAULT_TIMEOUT_S) * 1000;
        const ending = await waitFor(group, limit, context.signal);
        if (ending !== "timeout" || wait === null || !jobs || jobs.isFull)
          return await conclude(group, ending, limit / 1000, output, context, ended);
        isJob = true;
        const soFar = output.text();
        const job = jobs.adopt({
          callId: context.callId,
          command,
          group,
          redirect: output.redirect,
          async settle(failed) {
            await group.drained();
            await ended(output.errors(), failed);
            await over();
          },
        });
        const note = `[It goes on as ${job.id}. Use job to read on or to stop it.]`;
        return { success: true, output: `${await capOutput(soFar, context)}\n${note}`.trimStart() };
      } finally {
        if (!isJob) await over();
      }
    },
  });
}

/** Finds the shell for command lines: bash if there is one, or else the system's shell. `env` says where programs are installed. */
export function findShell(
  env: NonNullable<BashOptions["env"]>,
  { platform, exists }: { readonly platform: NodeJS.Platform; exists(path: string): boolean } = {
    platform: process.platform,
    exists: existsSync,
  },
): Shell {
  const isWindows = platform === "win32";
  const file = (isWindows ? gitBashes(env) : BASHES).find(exists);
  // --norc, because Node may give bash a socket as its input. Bash then takes itself for a remote shell and runs start-up files.
  if (file !== undefined) return { name: "bash", file, args: (command) => ["--norc", "-c", command] };
  if (!isWindows) return { name: "sh", file: "sh", args: (command) => ["-c", command] };
  return { name: "PowerShell", file: "powershell.exe", args: powerShellArgs };
}

// --- internal ---

interface Shell {
  readonly name: "bash" | "sh" | "PowerShell";
  readonly file: string;
  args(command: string): string[];
}

const BASHES = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];

/** The places of bash in Git for Windows. The `bash.exe` of Windows itself would start WSL instead. */
function gitBashes(env: NonNullable<BashOptions["env"]>): string[] {
  const folders = ["ProgramFiles", "ProgramFiles(x86)", "LOCALAPPDATA"].map((name) => variable(env, name, "win32"));
  return folders
    .filter((folder) => folder !== undefined)
    .flatMap((folder) => [win32.join(folder, "Git"), win32.join(folder, "Programs", "Git")])
    .map((git) => win32.join(git, "bin", "bash.exe"));
}

/** Encodes the script, because no quoting survives both Windows and PowerShell. The command's exit code is the last program's. */
function powerShellArgs(command: string): string[] {
  const script = `$ProgressPreference = "SilentlyContinue"\n${command}\nif ($LASTEXITCODE) { exit $LASTEXITCODE }`;
  const encoded = Buffer.from(script, "utf16le").toString("base64");
  return ["-NoProfile", "-NonInteractive", "-EncodedCommand", encoded];
}

const FULL = "Too many commands run in the background already: stop one with job.";

/** Returns a function that records a violation of the bounds in the session's log. */
function watching(target: Bounds, command: string, context: ToolContext) {
  return async (stderr: string, failed: boolean): Promise<void> => {
    const broken = await target.violation?.(stderr, failed);
    if (broken) report(context, command, target.mode, broken);
  };
}

function report(context: ToolContext, command: string, mode = "confined", { reason, path }: BrokenBounds): void {
  const place = path === undefined ? {} : { path };
  context.emit({ type: "sandbox_violation", metadata: { tool: "Bash", ...place, command, mode, reason } });
}

type Ending = { readonly code: number | null; readonly signal: string | null } | "timeout" | "aborted" | Error;

async function conclude(
  group: ProcessGroup,
  ending: Ending,
  limitS: number,
  output: Output,
  context: ToolContext,
  ended: (stderr: string, failed: boolean) => Promise<void>,
): Promise<ToolOutcome> {
  if (typeof ending === "string") await group.end();
  else await group.reap();
  await group.drained();
  if (ending instanceof Error) return failure(`The command could not be started: ${ending.message}`);
  const errors = output.errors();
  if (ending === "aborted") {
    // Report violations that happened before the cancel.
    await ended(errors, true);
    context.signal.throwIfAborted();
  }
  const shown = await capOutput(output.text(), context);
  const error = typeof ending === "string" ? `Timed out after ${limitS} s` : exitError(ending.code, ending.signal);
  await ended(errors, error !== null);
  if (error === null) return { success: true, output: shown };
  return { success: false, output: shown === "" ? error : `${shown}\n${error}`, error };
}

function exitError(code: number | null, signal: string | null): string | null {
  if (code === 0) return null;
  return code === null ? `Ended by ${signal}` : `Exit code ${code}`;
}

function waitFor({ child }: ProcessGroup, timeoutMs: number, signal: AbortSignal): Promise<Ending> {
  return new Promise((resolve) => {
    const onAbort = () => settle("aborted");
    const timer = setTimeout(() => settle("timeout"), timeoutMs);
    const settle = (ending: Ending) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      resolve(ending);
    };
    child.once("exit", (code, name) => settle({ code, signal: name }));
    child.once("error", settle);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}

type Show = (stream: "stdout" | "stderr", text: string) => void;

type Output = ReturnType<typeof listen>;

/** Collects a command's output and shows it while it arrives. */
function listen(group: ProcessGroup, context: ToolContext) {
  let shown = 0;
  let show: Show = (stream, text) => {
    if (shown >= MAX_PROGRESS || context.signal.aborted) return;
    shown += text.length;
    progress(context, stream, shown < MAX_PROGRESS ? text : `${text}\n[more output is not shown]\n`);
  };
  const [stdout, errors] = (["stdout", "stderr"] as const).map((stream) =>
    collect(group, stream, (text) => show(stream, text)),
  ) as [() => string, () => string];
  return {
    errors,
    /** All kept output of both streams. */
    text(): string {
      const written = errors();
      return stdout() + (written === "" ? "" : `\nSTDERR:\n${written}`);
    },
    redirect(to: Show) {
      show = to;
    },
  };
}

/** Collects a stream. The returned function gives the text kept so far. */
function collect({ child }: ProcessGroup, stream: "stdout" | "stderr", show: (text: string) => void): () => string {
  const decoder = new StringDecoder("utf8");
  const kept: string[] = [];
  let total = 0;
  const take = (text: string) => {
    if (text === "") return;
    total += text.length;
    if (total <= MAX_KEPT) kept.push(text);
    show(text);
  };
  child[stream]?.on("data", (bytes: Buffer) => take(decoder.write(bytes)));
  child[stream]?.on("error", () => {});
  return () => {
    take(decoder.end());
    const left = total > MAX_KEPT ? `\n[${total} characters of ${stream}; the rest was not kept]` : "";
    return kept.join("") + left;
  };
}
