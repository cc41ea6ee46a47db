/** What the wall cannot stop: a command that may write the workspace makes a repository there that runs programs when git looks at it. */
import { relative } from "node:path";
import type { BrokenBounds, ConfineRequest } from "@chimera/agent";
import { findRepositories, SANDBOX_MODES, type SandboxMode } from "@chimera/sandbox";
import { classify } from "@chimera/sandbox/classify";

export interface Finished extends Pick<ConfineRequest, "command" | "cwd" | "workspace"> {
  readonly mode: SandboxMode;
  /** When it was started, in milliseconds of the epoch. */
  readonly since: number;
}

export type FindPlanted = (finished: Finished) => Promise<BrokenBounds | null>;

/** Every command that may write pays for the search, which begins near the roots, where people and editors run git. */
const MAX_MS = 250;

/** Null when there is none. A command that only reads is not looked into; a workspace too large to be searched is reported once. */
export function createFindPlanted(): FindPlanted {
  const reported = new Set<string>();
  return async ({ command, cwd, workspace, mode, since }) => {
    const { confined, writes } = SANDBOX_MODES[mode];
    if (!confined || !writes || classify(command, { workspace, cwd }).decision === "allow") return null;
    let unsearched: BrokenBounds | null = null;
    for (const root of [workspace.cwd, ...workspace.directories]) {
      const { suspects, complete } = await findRepositories(root, { since, withinMs: MAX_MS });
      const [found] = suspects;
      if (found) {
        const place = relative(root, found.path) || ".";
        const reasons = found.reasons.join(", ");
        const reason = `it made ${place} a repository that runs programs when git looks at it: ${reasons}`;
        return { reason, path: found.path };
      }
      if (complete || reported.has(root)) continue;
      reported.add(root);
      unsearched = {
        reason: `${root} holds more directories than can be searched after each command: a repository that runs programs, planted deep in it, would not be noticed`,
        path: root,
      };
    }
    return unsearched;
  };
}
