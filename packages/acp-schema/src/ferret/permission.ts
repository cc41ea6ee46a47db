/** Answering a `permission_request`: ferret's form, which also remembers a no, beside otter's. */
import * as v from "valibot";
import { plain } from "../define/shape.js";
import { Decision } from "../events/metadata.js";
import { PermissionRespondRequest as OtterPermissionRespondRequest } from "../otter/permission.js";

export const PermissionRespondRequest = v.union(
  [plain(() => ({ sessionId: v.string(), id: v.string(), decision: Decision })), OtterPermissionRespondRequest],
  `sessionId, id and decision (${Decision.options.join(", ")}) or requestId and reply (allow, deny, always) are required`,
);
export type PermissionRespondRequest = v.InferOutput<typeof PermissionRespondRequest>;
