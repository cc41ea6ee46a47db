/** The sandbox mode as a wall in front of every call: one that would leave it is a violation, even if a rule or a person allowed it. */
import type { CallPlace, Policy, PolicyCall, PolicyDecision } from "@chimera/policy";
import { type FileAccessOptions, type FileUse, fileAccess, type OsSandbox, SANDBOX_MODES } from "@chimera/sandbox";
import { classify } from "@chimera/sandbox/classify";
import type { ProjectBounds } from "./settings.js";

export interface GuardOptions extends Omit<FileAccessOptions, "mode" | "workspace"> {
  readonly modeIn: ProjectBounds["sandbox"];
  readonly osSandbox: OsSandbox;
}

export function guardCalls({ modeIn, ...options }: GuardOptions): (policy: Policy) => Policy {
  return (policy) => ({
    ...policy,
    decide: async (call, context) => {
      const mode = modeIn(context.workspace.cwd);
      const violation = findViolation(call, context, { ...options, mode });
      if (!violation) return policy.decide(call, context);
      const { why, ...place } = violation;
      return { decision: "deny", rule: `sandbox ${mode}`, why, risk: "high", violation: { mode, ...place } };
    },
  });
}

// --- internal ---

type Guard = Omit<GuardOptions, "modeIn"> & Pick<FileAccessOptions, "mode">;
type Violation = Pick<PolicyDecision, "why"> & { readonly path?: string; readonly command?: string };

function findViolation(call: PolicyCall, { workspace }: CallPlace, options: Guard): Violation | null {
  if (!SANDBOX_MODES[options.mode].confined) return null;
  const { tool, touches } = call;
  if (touches.command !== undefined) return commandViolation(call, touches.command, workspace, options);
  const refusal = fileAccess({ ...options, workspace });
  const uses: readonly [FileUse, readonly string[]][] = [
    ["write", touches.writes],
    [tool.kind === "search" ? "search" : "read", touches.reads],
  ];
  for (const [use, paths] of uses) {
    for (const path of paths) {
      const why = refusal(path, use);
      if (why !== null) return { path, why: `${tool.name} blocked: ${why}` };
    }
  }
  return null;
}

/** The shell tool is confined when it runs. Another's process, an editor's terminal for one, cannot be. */
function commandViolation(
  { tool, touches }: PolicyCall,
  command: string,
  workspace: CallPlace["workspace"],
  { mode, osSandbox }: Guard,
): Violation | null {
  const blocked = `command blocked by sandbox mode ${mode}`;
  if (tool.name !== "Bash") return { command, why: `${blocked}: ${tool.name} runs outside of the sandbox; use Bash` };
  // Without the operating system's wall the text is all there is to go by.
  if (osSandbox !== "off" || SANDBOX_MODES[mode].writes) return null;
  const cwd = touches.reads[0];
  const { decision, reason } = classify(command, { workspace, ...(cwd !== undefined && { cwd }) });
  return decision === "allow" ? null : { command, why: `${blocked}: ${reason}` };
}
