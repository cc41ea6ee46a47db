/** `@chimera/acp-schema/ferret`: ferret's native dialect. Has only definitions that differ from otter's; the method tables are complete. */
import * as v from "valibot";
import { methodsOf } from "../define/method.js";
import { count, ordinal, text } from "../define/scalar.js";
import { json, type ObjectOf, plain, variant } from "../define/shape.js";
import { metadata } from "../events/metadata.js";
import { Decision, Risk, StopReason } from "../events/value.js";
import * as otter from "../otter/index.js";

const sessionId = v.string();

// The handshake of ferret: otter's with more capabilities, for which an editor can show controls.

/** The version in ferret's answer, unless the client asks for revision 2. */
export const FERRET_PROTOCOL_VERSION = "0.2";

export const Capabilities = plain(() => ({
  ...otter.Capabilities.entries,
  sandbox: v.boolean(),
  approval: v.boolean(),
  streaming: v.boolean(),
  cancellation: v.boolean(),
  bridge: v.boolean(),
}));

export const InitializeResponse = plain(() => ({ ...otter.InitializeResponse.entries, capabilities: Capabilities }));

// Sandbox, approval preset, permissions and bridge of a session.

export const SandboxMode = v.picklist(["read-only", "workspace-write", "workspace-write-network", "off"]);
export type SandboxMode = v.InferOutput<typeof SandboxMode>;

/** Reads the sandbox mode. With `mode` it asks for another one, which needs a restart. */
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

/** Changes the preset at once. */
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
    lastEventId: v.nullable(count),
  })),
]);
export type BridgeStatusResponse = v.InferOutput<typeof BridgeStatusResponse>;

/** The answer to a `permission_request`, in otter's form or in ferret's, which can also remember a no. */
export const PermissionRespondRequest = v.union(
  [
    plain(() => ({
      sessionId: v.string(),
      id: v.string(),
      decision: Decision,
      shown: v.optional(v.string()),
      answer: v.optional(v.string()),
    })),
    otter.PermissionRespondRequest,
  ],
  `sessionId, id and decision (${Decision.options.join(", ")}) or requestId and reply (allow, deny, always) are required`,
);

// `session/update` of ferret: flat, distinguished by `kind`, with otter's `update` beside it.

export const AgentMessageChunk = plain(() => ({ text }));
export type AgentMessageChunk = v.InferOutput<typeof AgentMessageChunk>;

export const ToolCallStart = plain(() => ({ id: text, tool: text, args: json() }));
export type ToolCallStart = v.InferOutput<typeof ToolCallStart>;

/** New output on one of the two streams. */
export const ToolCallProgress = plain(() => ({ id: text, stdout: v.optional(text), stderr: v.optional(text) }));
export type ToolCallProgress = v.InferOutput<typeof ToolCallProgress>;

export const ToolCallEnd = plain(() => ({ id: text, result: text, success: v.boolean(), duration_ms: v.number() }));
export type ToolCallEnd = v.InferOutput<typeof ToolCallEnd>;

export const PermissionRequest = plain(() => ({
  id: text,
  tool: text,
  args: json(),
  risk: Risk,
  /** The content for the person: the diff of an edit, the whole command or all arguments. `shown` is its digest. */
  content: metadata.permission_request.entries.content,
  shown: v.optional(text),
}));

/** The totals of the session so far. */
export const CostUpdate = otter.updates.usage_update;
export type CostUpdate = v.InferOutput<typeof CostUpdate>;

export const SandboxViolation = plain(() => metadata.sandbox_violation.entries);
export type SandboxViolation = v.InferOutput<typeof SandboxViolation>;

export const ApprovalChanged = plain(() => metadata.approval_changed.entries);
export type ApprovalChanged = v.InferOutput<typeof ApprovalChanged>;

/** `diff` is a unified diff, which an editor can apply or revert in place. */
export const FileEdit = plain(() => metadata.file_edit.entries);
export type FileEdit = v.InferOutput<typeof FileEdit>;

export const FileOpen = plain(() => metadata.file_open.entries);
export type FileOpen = v.InferOutput<typeof FileOpen>;

export const Notice = plain(() => metadata.notice.entries);
export type Notice = v.InferOutput<typeof Notice>;

/** `id` is the id of the message that began the turn. */
export const TurnEnd = plain(() => ({ id: text, stop_reason: StopReason }));
export type TurnEnd = v.InferOutput<typeof TurnEnd>;

/** The kinds that otter does not have. */
const own = {
  tool_call_progress: ToolCallProgress,
  sandbox_violation: SandboxViolation,
  approval_changed: ApprovalChanged,
  file_edit: FileEdit,
  file_open: FileOpen,
  notice: Notice,
  turn_end: TurnEnd,
};

export const kinds = {
  agent_message_chunk: AgentMessageChunk,
  tool_call_start: ToolCallStart,
  tool_call_end: ToolCallEnd,
  permission_request: PermissionRequest,
  cost_update: CostUpdate,
  ...own,
};

/** The field `update`: otter's kinds, and the kinds that otter does not have, under their own names. */
export const SessionUpdate = variant("sessionUpdate", () => ({ ...otter.updates, ...own }));
export type SessionUpdate = v.InferOutput<typeof SessionUpdate>;

const frame = {
  sessionId: text,
  eventId: ordinal,
  update: SessionUpdate,
};

type Framed<T extends Record<string, ObjectOf>> = { [K in keyof T]: ObjectOf<T[K]["entries"] & typeof frame> };

export const SessionNotification = variant("kind", () => {
  const framed = Object.entries<ObjectOf>(kinds).map(([kind, { entries }]) => [
    kind,
    plain(() => ({ ...entries, ...frame })),
  ]);
  return Object.fromEntries(framed) as Framed<typeof kinds>;
});
export type SessionNotification = v.InferOutput<typeof SessionNotification>;

// The methods of the native ferret dialect: otter's and its own.

export const agentMethods = {
  ...otter.agentMethods,
  ...methodsOf("agent", {
    initialize: [otter.InitializeRequest, InitializeResponse],
    "session/setSandbox": [SetSandboxRequest, SetSandboxResponse, "capabilities.sandbox"],
    "session/setApproval": [SetApprovalRequest, SetApprovalResponse, "capabilities.approval"],
    "session/bridgeStatus": [BridgeStatusRequest, BridgeStatusResponse, "capabilities.bridge"],
    "permission/respond": [PermissionRespondRequest, otter.PermissionRespondResponse, "capabilities.permissionRequest"],
  }),
};

export const clientMethods = {
  ...otter.clientMethods,
  ...methodsOf("client", { "session/update": [SessionNotification, null] }),
};
