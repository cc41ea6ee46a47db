/**
 * `@chimera/event-store/claim`: one owner per path across processes, with a fencing token, and which process a pid means.
 *
 * @module
 */
export { type Claim, claim, claimHolder } from "./claim.js";
export { createHeartbeat, type Heartbeat } from "./heartbeat.js";
export type { Holder } from "./identity.js";
export { describeProcess, findHolder, identify, isStillThere, type ProcessIdentity } from "./process.js";
