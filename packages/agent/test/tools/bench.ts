/** Runs tools in a fresh workspace, like a policy that allows everything, and collects their events. */
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { AgentEvent } from "@chimera/acp-schema/events";
import { onTestFinished } from "vitest";
import type { Tool, ToolContext, ToolOutcome, Workspace } from "../../src/index.js";
import { localWorkspace } from "../../src/tools/index.js";

export interface Bench {
  readonly cwd: string;
  /** A directory beside the workspace, with a file `canary`. */
  readonly outside: string;
  readonly workspace: Workspace;
  readonly events: AgentEvent[];
  file(path: string, content: string | Uint8Array): Promise<string>;
  run<I>(tool: Tool<I>, input: Record<string, unknown>, options?: Partial<ToolContext>): Promise<ToolOutcome>;
}

export const CANARY = "the outside must not be touched\n";

export async function bench(directories: readonly string[] = []): Promise<Bench> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "agent-tools-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const cwd = join(base, "work");
  const outside = join(base, "work-outside");
  await mkdir(cwd);
  await mkdir(outside);
  await writeFile(join(outside, "canary"), CANARY);
  const workspace = localWorkspace(
    cwd,
    directories.map((name) => join(base, name)),
  );
  const events: AgentEvent[] = [];
  return {
    cwd,
    outside,
    workspace,
    events,
    file: async (path, content) => {
      const full = join(cwd, path);
      await mkdir(dirname(full), { recursive: true });
      await writeFile(full, content);
      return full;
    },
    run: async (tool, input, options = {}) => {
      const parsed = await tool.input["~standard"].validate(input);
      if (parsed.issues) throw new Error(parsed.issues.map(({ message }) => message).join("; "));
      const emit = (event: AgentEvent) => void events.push(event);
      return tool.run(parsed.value, {
        callId: "call-1",
        workspace,
        signal: new AbortController().signal,
        emit,
        ...options,
      });
    },
  };
}
