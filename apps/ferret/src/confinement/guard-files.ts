/** The sandbox mode for tools that start no process of ours: a call that would leave it is a violation, asked or not. */
import type { Policy, PolicyCall, PolicyContext, PolicyDecision } from "@chimera/agent";
import { type FileAccessOptions, type FileUse, fileAccess } from "@chimera/sandbox";

type Violation = Pick<PolicyDecision, "why"> & { readonly path?: string; readonly command?: string };

export function guardFiles(options: Omit<FileAccessOptions, "workspace">): (policy: Policy) => Policy {
  const { mode } = options;
  return (policy) => ({
    ...policy,
    decide: async (call, context) => {
      const violation = findViolation(call, context, options);
      if (!violation) return policy.decide(call, context);
      const { why, ...place } = violation;
      return { decision: "deny", rule: `sandbox ${mode}`, why, risk: "high", violation: { mode, ...place } };
    },
  });
}

// --- internal ---

function findViolation(
  { tool, touches }: PolicyCall,
  { workspace }: PolicyContext,
  options: Omit<FileAccessOptions, "workspace">,
): Violation | null {
  const { mode } = options;
  const { command } = touches;
  if (command !== undefined) {
    // The shell tool is confined when it runs; another's process, an editor's terminal for one, cannot be.
    if (tool.name === "Bash") return null;
    return { command, why: `${tool.name} runs outside of the sandbox, which mode ${mode} does not allow; use Bash` };
  }
  const refuses = fileAccess({ ...options, workspace });
  const uses: [readonly string[], FileUse][] = [
    [touches.writes, "write"],
    [touches.reads, tool.kind === "search" ? "search" : "read"],
  ];
  for (const [paths, use] of uses) {
    for (const path of paths) {
      const why = refuses(path, use);
      if (why) return { path, why: `${tool.name} blocked: ${why}` };
    }
  }
  return null;
}
