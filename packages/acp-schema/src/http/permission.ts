/** Answering a permission request over HTTP. */
import * as v from "valibot";
import { plain } from "../define/shape.js";
import { Decision } from "../events/metadata.js";

/** `POST /sessions/{id}/permissions/{pid}`. */
export const PermissionBody = plain(() => ({ decision: Decision }));
export type PermissionBody = v.InferOutput<typeof PermissionBody>;

export const PermissionReply = plain(() => ({ resolved: v.literal(true), decision: Decision }));
export type PermissionReply = v.InferOutput<typeof PermissionReply>;

/** `POST /tool/approve`, the older form. */
export const ToolApproveBody = plain(() => ({
  session_id: v.string(),
  permission_id: v.string(),
  approved: v.boolean(),
}));
export type ToolApproveBody = v.InferOutput<typeof ToolApproveBody>;

export const ToolApproveReply = plain(() => ({ resolved: v.literal(true), approved: v.boolean() }));
export type ToolApproveReply = v.InferOutput<typeof ToolApproveReply>;
