/** The methods of the native ferret dialect: otter's, and its own. */
import { methodsOf } from "../define/method.js";
import { InitializeRequest } from "../otter/initialize.js";
import { agentMethods as otterAgentMethods, clientMethods as otterClientMethods } from "../otter/methods.js";
import { PermissionRespondResponse } from "../otter/permission.js";
import { InitializeResponse } from "./initialize.js";
import {
  BridgeStatusRequest,
  BridgeStatusResponse,
  PermissionRespondRequest,
  SetApprovalRequest,
  SetApprovalResponse,
  SetSandboxRequest,
  SetSandboxResponse,
} from "./setting.js";
import { SessionNotification } from "./update.js";

export const agentMethods = {
  ...otterAgentMethods,
  ...methodsOf("agent", {
    initialize: [InitializeRequest, InitializeResponse],
    "session/setSandbox": [SetSandboxRequest, SetSandboxResponse, "capabilities.sandbox"],
    "session/setApproval": [SetApprovalRequest, SetApprovalResponse, "capabilities.approval"],
    "session/bridgeStatus": [BridgeStatusRequest, BridgeStatusResponse, "capabilities.bridge"],
    "permission/respond": [PermissionRespondRequest, PermissionRespondResponse, "capabilities.permissionRequest"],
  }),
};

export const clientMethods = {
  ...otterClientMethods,
  ...methodsOf("client", { "session/update": [SessionNotification, null] }),
};
