/** Answering a `permission_request` update. */
import * as v from "valibot";
import { plain } from "../define/shape.js";

export const PermissionReply = v.picklist(["allow", "deny", "always"]);

export const PermissionRespondRequest = plain(() => ({
  requestId: v.string(),
  reply: PermissionReply,
  /** The digest of what was shown; a wrong one is refused. */
  shown: v.optional(v.string()),
}));

export const PermissionRespondResponse = plain(() => ({ ok: v.literal(true) }));

/** The older form: anything but `approve` denies. `permission_id` and `reply` are other names. */
export const ToolApproveRequest = v.union(
  [
    plain(() => ({ sessionId: v.string(), permissionId: v.string(), decision: v.string() })),
    plain(() => ({ sessionId: v.string(), permissionId: v.string(), reply: v.string() })),
    plain(() => ({ sessionId: v.string(), permission_id: v.string(), decision: v.string() })),
    plain(() => ({ sessionId: v.string(), permission_id: v.string(), reply: v.string() })),
  ],
  "sessionId, permissionId and decision are required",
);

export const ToolApproveResponse = plain(() => ({
  sessionId: v.string(),
  permissionId: v.string(),
  applied: v.boolean(),
}));
