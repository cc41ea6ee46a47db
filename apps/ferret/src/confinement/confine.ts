/** Commands and MCP servers behind the operating system's wall; where none can be had they are refused, with the way out. */
import type { Confine } from "@chimera/agent";
import { createSandbox, findDenial, isSandboxError, type Sandbox, type SandboxOptions } from "@chimera/sandbox";
import { findPlanted } from "./planted-repositories.js";

/** Workspaces whose sandbox is kept. */
const MAX_KEPT = 32;

export function createConfine(options: Omit<SandboxOptions, "workspace">): Confine {
  const { mode } = options;
  const kept = new Map<string, Sandbox>();
  const sandboxFor = (workspace: SandboxOptions["workspace"]): Sandbox => {
    const key = JSON.stringify([workspace.cwd, workspace.directories]);
    const known = kept.get(key);
    if (known) return known;
    const sandbox = createSandbox({ ...options, workspace });
    const oldest = kept.size < MAX_KEPT ? undefined : kept.keys().next().value;
    if (oldest !== undefined) kept.delete(oldest);
    kept.set(key, sandbox);
    return sandbox;
  };

  return async ({ command, cwd, workspace, env }) => {
    try {
      const { cwd: directory, directories } = workspace;
      const confined = await sandboxFor({ cwd: directory, directories }).confine(command, { cwd, ...(env && { env }) });
      const { stdio, env: clean, cwd: start } = confined.options;
      const [, , , ...descriptors] = stdio;
      const since = Date.now();
      return {
        file: confined.file,
        args: confined.args,
        cwd: start,
        env: clean,
        descriptors,
        release: confined.release,
        violation: async (stderr, failed) =>
          findDenial(stderr, mode, failed) ?? (await findPlanted({ command, cwd, workspace, mode, since })),
        mode,
      };
    } catch (error) {
      if (!isSandboxError(error)) throw error;
      return { refused: `blocked by sandbox mode ${mode}: ${error.message}; ${error.hint}`, mode };
    }
  };
}
