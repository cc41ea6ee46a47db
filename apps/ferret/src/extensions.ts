/** What ferret adds, in the order in which each narrows what the ones before it left. */
import type { ProgramExtension } from "@chimera/host";
import { approvalExtension } from "./extensions/approval.js";
import { createBridgeExtension } from "./extensions/bridge.js";
import { editorNotifications } from "./extensions/editor-notifications.js";
import { sandboxExtension } from "./extensions/sandbox.js";

export const extensions: readonly ProgramExtension[] = [
  approvalExtension,
  sandboxExtension,
  editorNotifications,
  createBridgeExtension(),
];
