/** Commands and MCP servers inside the operating system's wall; where none can be had they are refused, with the way out. */
import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Confine, ConfineRequest } from "@chimera/agent";
import {
  createSandbox,
  fileAccess,
  findDenial,
  isSandboxError,
  type Sandbox,
  type SandboxMode,
  type SandboxOptions,
} from "@chimera/sandbox";
import type { ProjectBounds } from "../project-bounds.js";
import { createFindPlanted } from "./planted-repositories.js";

/** Workspaces whose sandbox is kept. */
const MAX_KEPT = 32;

export interface ConfineOptions extends Omit<SandboxOptions, "mode" | "workspace"> {
  readonly modeIn: ProjectBounds["sandbox"];
}

export function createConfine({ modeIn, ...options }: ConfineOptions): Confine {
  const kept = new Map<string, Sandbox>();
  const findPlanted = createFindPlanted();
  const sandboxFor = (mode: SandboxMode, { cwd, directories }: ConfineRequest["workspace"]): Sandbox => {
    const key = JSON.stringify([mode, cwd, directories]);
    const known = kept.get(key);
    if (known) return known;
    const sandbox = createSandbox({ ...options, mode, workspace: { cwd, directories } });
    const oldest = kept.size < MAX_KEPT ? undefined : kept.keys().next().value;
    if (oldest !== undefined) kept.delete(oldest);
    kept.set(key, sandbox);
    return sandbox;
  };

  const refusesWrite = (mode: SandboxMode, workspace: ConfineRequest["workspace"]) => {
    const access = fileAccess({ ...options, mode, workspace });
    return (path: string) => access(realPath(path), "write") !== null;
  };

  return async ({ command, cwd, workspace, env }) => {
    const mode = modeIn(workspace.cwd);
    try {
      const confined = await sandboxFor(mode, workspace).confine(command, { cwd, ...(env && { env }) });
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
        // A command can write what looks like a denial, so that comes second.
        violation: async (stderr, failed) =>
          (await findPlanted({ command, cwd, workspace, mode, since })) ??
          findDenial(stderr, { mode, failed, cwd, refuses: refusesWrite(mode, workspace) }),
        mode,
      };
    } catch (error) {
      if (!isSandboxError(error)) throw error;
      return { refused: `blocked by sandbox mode ${mode}: ${error.message}; ${error.hint}`, mode };
    }
  };
}

// --- internal ---

/** With its links followed as far as it exists. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), basename(path));
  }
}
