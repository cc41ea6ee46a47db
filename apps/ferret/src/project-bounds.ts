/** What holds in the directory of a session: what the user chose, and less where the project there wants less. */
import { type ExtensionContext, settingOf } from "@chimera/host";
import type { SandboxMode } from "@chimera/sandbox";
import type { ApprovalPreset } from "./approval/preset.js";
import { chosen, shorthand } from "./shorthand.js";

export interface ProjectBounds {
  sandbox(cwd: string): SandboxMode;
  /** The widest preset; null where the project sets no limit, or the user overrode it by a flag or a variable. */
  approval(cwd: string): ApprovalPreset | null;
}

/** Asked anew each time, as a project's file may change; one that makes no sense leaves the least. */
export function projectBounds({ flags, under }: Pick<ExtensionContext, "flags" | "under">): ProjectBounds {
  return {
    sandbox: (cwd) => leastOnError(() => chosen({ flags, values: under(cwd).values }, "sandbox") as SandboxMode),
    approval: (cwd) =>
      leastOnError(() => {
        if (shorthand(flags, "approval") !== undefined) return null;
        const { limit = null } = settingOf(under(cwd), "approval") ?? {};
        return limit as ApprovalPreset | null;
      }),
  };
}

// --- internal ---

/** The strictest mode and the strictest preset have one name. */
function leastOnError<T>(read: () => T): T | "read-only" {
  try {
    return read();
  } catch {
    return "read-only";
  }
}
