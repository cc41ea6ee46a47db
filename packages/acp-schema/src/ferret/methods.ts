/** The methods of the native ferret dialect: otter's, and its own. */
import { methodsOf } from "../define/method.js";
import { InitializeRequest } from "../otter/initialize.js";
import { agentMethods as otterAgentMethods, clientMethods as otterClientMethods } from "../otter/methods.js";
import { PermissionRespondResponse } from "../otter/permission.js";
import { InitializeResponse } from "./initialize.js";
import * as setting from "./setting.js";
import { SessionNotification } from "./update.js";

export const agentMethods = {
  ...otterAgentMethods,
  ...methodsOf("agent", {
    initialize: [InitializeRequest, InitializeResponse],
    "session/setSandbox": [setting.SetSandboxRequest, setting.SetSandboxResponse, "capabilities.sandbox"],
    "session/setApproval": [setting.SetApprovalRequest, setting.SetApprovalResponse, "capabilities.approval"],
    "session/bridgeStatus": [setting.BridgeStatusRequest, setting.BridgeStatusResponse, "capabilities.bridge"],
    "permission/respond": [
      setting.PermissionRespondRequest,
      PermissionRespondResponse,
      "capabilities.permissionRequest",
    ],
  }),
};

export const clientMethods = {
  ...otterClientMethods,
  ...methodsOf("client", { "session/update": [SessionNotification, null] }),
};
