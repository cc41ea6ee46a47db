/** Ids that one side assigns and the other repeats. They are opaque strings, except JSON-RPC's request id. */
import * as v from "valibot";
import { int64 } from "../define/shape.js";

export const SessionId = v.string();
export const ToolCallId = v.string();
export const TerminalId = v.string();
export const PermissionOptionId = v.string();
export const ElicitationId = v.string();
export const AuthMethodId = v.string();
export const SessionModeId = v.string();
export const SessionConfigId = v.string();
export const SessionConfigValueId = v.string();
export const SessionConfigGroupId = v.string();
export const MessageId = v.string();
export const CompactionId = v.string();

export const RequestId = v.nullable(v.union([int64(), v.string()]));
export type RequestId = v.InferOutput<typeof RequestId>;
