/**
 * `@chimera/event-store/claim`: one owner per path across processes, with a fencing token, which process a pid means, and small
 * files that are replaced in one step.
 *
 * @module
 */
export { replaceFileSync } from "../file/disk.js";
export { type Claim, claim, claimHolder } from "./claim.js";
export { createHeartbeat, type Heartbeat } from "./heartbeat.js";
export type { Holder } from "./identity.js";
export { describeProcess, findHolder, identify, isStillThere, type ProcessIdentity } from "./process.js";
