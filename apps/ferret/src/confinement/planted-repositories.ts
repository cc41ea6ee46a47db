/** What the wall cannot stop: a command that may write the workspace makes a repository there that runs programs when git looks at it. */
import { relative } from "node:path";
import type { ConfineRequest } from "@chimera/agent";
import { findRepositories, SANDBOX_MODES, type SandboxMode } from "@chimera/sandbox";
import { classify } from "@chimera/sandbox/classify";

export interface Finished extends Pick<ConfineRequest, "command" | "cwd" | "workspace"> {
  readonly mode: SandboxMode;
  /** When it was started, in milliseconds of the epoch. */
  readonly since: number;
}

/** Every command that may write pays for the search, so it stays near the roots, where people and editors run git. */
const MAX_DIRECTORIES = 500;

/** In words, or null. A command that only reads is not looked into. */
export async function findPlanted({ command, cwd, workspace, mode, since }: Finished): Promise<string | null> {
  const { confined, writes } = SANDBOX_MODES[mode];
  if (!confined || !writes || classify(command, { workspace, cwd }).decision === "allow") return null;
  for (const root of [workspace.cwd, ...workspace.directories]) {
    const { suspects } = await findRepositories(root, { since, most: MAX_DIRECTORIES });
    const [found] = suspects;
    if (!found) continue;
    const place = relative(root, found.path) || ".";
    return `it made ${place} a repository that runs programs when git looks at it: ${found.reasons.join(", ")}`;
  }
  return null;
}
