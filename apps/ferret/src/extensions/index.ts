/** What ferret adds, in the order in which each narrows what the ones before it left. */
import type { ProgramExtension } from "@chimera/host";
import { approvalExtension } from "./approval.js";
import { createBridgeExtension } from "./bridge.js";
import { editorNotifications } from "./editor-notifications.js";
import { sandboxExtension } from "./sandbox.js";

export const extensions: readonly ProgramExtension[] = [
  approvalExtension,
  sandboxExtension,
  editorNotifications,
  createBridgeExtension(),
];
