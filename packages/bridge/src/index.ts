/** `@chimera/bridge`: connects a local session to a remote console over an outbound WebSocket. */
export type { BridgePeer, BridgeServer } from "./attach.js";
export {
  type Bridge,
  type BridgeClock,
  type BridgeExit,
  type BridgeOptions,
  type BridgeState,
  type BridgeStatus,
  createBridge,
} from "./bridge.js";
export { BridgeError, type BridgeErrorCode, isBridgeError } from "./errors.js";
export { checkRemote, type Remote } from "./remote.js";
export type { BridgedSession, SessionFacts } from "./session.js";
