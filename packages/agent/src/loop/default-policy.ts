/** The policy of an agent that was given none: reading is free, everything else is asked for. */
import type { ToolKind } from "@chimera/acp-schema/events";
import type { Policy } from "../policy-port.js";

const free: ReadonlySet<ToolKind> = new Set(["read", "search", "think"]);
const executes: ReadonlySet<ToolKind> = new Set(["execute", "fetch", "other"]);

export const askForChanges: Policy = {
  decide({ tool }, { settings }) {
    const row = { rule: null, risk: free.has(tool.kind) ? ("low" as const) : ("medium" as const) };
    if (free.has(tool.kind)) return { ...row, decision: "allow", why: "it only reads" };
    if (settings.readOnly) return { ...row, decision: "deny", why: "the session is read-only" };
    const approved = executes.has(tool.kind) ? settings.autoApproveExecute : settings.autoApproveWrites;
    return approved
      ? { ...row, decision: "allow", why: "such calls are approved in advance" }
      : { ...row, decision: "ask", why: "it may change something" };
  },
  remember: async () => {},
  audit: async () => {},
};
