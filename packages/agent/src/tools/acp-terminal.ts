/** acp_terminal: runs a command in the editor's terminal, where the person can watch it. */
import type { ClientTerminal } from "@chimera/acp-schema/agent";
import { plainWord } from "@chimera/acp-schema/text";
import * as v from "valibot";
import { resolvePath } from "../files/real-path.js";
import type { ToolOutcome } from "../tool.js";
import { capOutput, defineTool, failure, locate, titleOf } from "./define.js";
import { quietGit } from "./environment.js";

const DEFAULT_TIMEOUT_S = 60;
const MAX_TIMEOUT_S = 600;

export const acpTerminalTool = defineTool({
  name: "acp_terminal",
  description: "Run a program in the editor's own terminal, where the person sees it. Otherwise like Bash.",
  input: v.object({
    command: v.pipe(v.string(), v.nonEmpty(), v.description("The program, or a command line when args is left out.")),
    args: v.optional(v.array(v.string()), []),
    cwd: v.optional(v.pipe(v.string(), v.description("Where to run it; the workspace when left out.")), "."),
    env: v.optional(v.record(v.string(), v.string()), {}),
    timeout: v.optional(
      v.pipe(v.number(), v.minValue(0.1), v.maxValue(MAX_TIMEOUT_S), v.description("Seconds it may take.")),
      DEFAULT_TIMEOUT_S,
    ),
  }),
  kind: "execute",
  parallel: false,
  needs: "terminal",
  describe: ({ command, args, cwd, env }, workspace) => {
    const line = lineOf(command, args, env);
    const reads = [resolvePath(cwd, workspace).path];
    return { title: titleOf(line), locations: [], touches: { reads, writes: [], command: line } };
  },
  run: async ({ command, args, cwd, env, timeout }, context) => {
    const { terminal } = context.workspace;
    if (!terminal) return failure("The editor offers no terminal.");
    const directory = locate(cwd, context, "reads").path;
    const quiet = await quietGit(lineOf(command, args, env), directory, context.workspace);
    const ran = await context.workspace.willRun([command, ...args.map(plainWord)].join(" "));
    try {
      let terminalId: string | undefined;
      const onStart = (id: string) => {
        terminalId = id;
        context.emit({ type: "terminal_output", metadata: { call_id: context.callId, terminal_id: id } });
      };
      const { signal } = context;
      const result = await terminal.run({
        command,
        args,
        cwd: directory,
        env: { ...env, ...quiet },
        timeoutMs: timeout * 1000,
        signal,
        onStart,
      });
      const outcome = outcomeOf(result, timeout);
      const output = await capOutput(outcome.output, context);
      const content = terminalId === undefined ? [] : [{ type: "terminal" as const, terminal_id: terminalId }];
      return { ...outcome, output, content };
    } finally {
      await ran();
    }
  },
});

// --- internal ---

/** Rules judge this line, so it includes the variables, which can change the meaning of the command. */
function lineOf(command: string, args: readonly string[], env: Readonly<Record<string, string>>): string {
  const set = Object.entries(env).map(([name, value]) => `${name}=${plainWord(value)}`);
  return [...set, command, ...args.map(plainWord)].join(" ");
}

type Result = Awaited<ReturnType<ClientTerminal["run"]>>;

function outcomeOf(result: Result, timeoutS: number): ToolOutcome {
  const suffixes = [
    result.truncated ? "[output truncated]" : null,
    result.timedOut ? `[timed out after ${timeoutS} s]` : null,
    result.exitCode === null ? null : `[exit code: ${result.exitCode}]`,
    result.signal === null || result.timedOut ? null : `[signal: ${result.signal}]`,
  ].filter((suffix) => suffix !== null);
  const output = [result.output, ...suffixes].filter((part) => part !== "").join("\n");
  if (!result.timedOut && result.exitCode === 0) return { success: true, output };
  const error = result.timedOut ? `Timed out after ${timeoutS} s` : `Exit code ${result.exitCode ?? result.signal}`;
  return { success: false, output, error };
}
