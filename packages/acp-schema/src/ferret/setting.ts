/** Sandbox, approval preset, permissions and bridge of a session. */
import * as v from "valibot";
import { plain } from "../define/shape.js";
import { Decision } from "../events/value.js";
import { PermissionRespondRequest as OtterPermissionRespondRequest } from "../otter/permission.js";

const sessionId = v.string();

export const SandboxMode = v.picklist(["read-only", "workspace-write", "workspace-write-network", "off"]);
export type SandboxMode = v.InferOutput<typeof SandboxMode>;

/** Reads the mode; with `mode` it asks for another, which takes a restart. */
export const SetSandboxRequest = plain(() => ({ sessionId, mode: v.optional(SandboxMode) }));

export const SetSandboxResponse = v.union([
  plain(() => ({
    mode: SandboxMode,
    requested: SandboxMode,
    restartRequired: v.literal(true),
    message: v.literal("restart required"),
  })),
  plain(() => ({ mode: SandboxMode })),
]);

export const ApprovalPreset = v.picklist(["read-only", "auto", "full"]);
export type ApprovalPreset = v.InferOutput<typeof ApprovalPreset>;

/** Takes effect at once. */
export const SetApprovalRequest = plain(() => ({ sessionId, preset: ApprovalPreset }));

export const SetApprovalResponse = plain(() => ({ old: ApprovalPreset, new: ApprovalPreset }));
export type SetApprovalResponse = v.InferOutput<typeof SetApprovalResponse>;

export const BridgeStatusRequest = plain(() => ({ sessionId: v.optional(sessionId) }));

export const BridgeStatusResponse = v.variant("attached", [
  plain(() => ({ attached: v.literal(false) })),
  plain(() => ({
    attached: v.literal(true),
    state: v.string(),
    remoteUrl: v.string(),
    uiUrl: v.nullable(v.string()),
    lastEventId: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0))),
  })),
]);
export type BridgeStatusResponse = v.InferOutput<typeof BridgeStatusResponse>;

/** The answer to a `permission_request`: ferret's form, which also remembers a no, beside otter's. */
export const PermissionRespondRequest = v.union(
  [
    plain(() => ({ sessionId: v.string(), id: v.string(), decision: Decision, shown: v.optional(v.string()) })),
    OtterPermissionRespondRequest,
  ],
  `sessionId, id and decision (${Decision.options.join(", ")}) or requestId and reply (allow, deny, always) are required`,
);
