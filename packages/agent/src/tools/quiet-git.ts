/** Git commands that only read run unasked. In them the settings of a repository that would run a program are off. */
import type { Workspace } from "@chimera/acp-schema/agent";

export async function quietGit(
  command: string,
  cwd: string,
  workspace: Workspace,
): Promise<Readonly<Record<string, string>>> {
  // Judged, not searched for its name: in g"i"t the shell finds it too.
  const [{ classify }, { QUIET_GIT }] = await Promise.all([
    import("@chimera/sandbox/classify"),
    import("@chimera/sandbox/git"),
  ]);
  return classify(command, { workspace, cwd }).decision === "allow" ? QUIET_GIT : {};
}
