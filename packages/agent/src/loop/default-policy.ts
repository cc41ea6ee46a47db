/** The policy of an agent that was given none: reading the workspace is free, everything else is asked for. */
import { createPolicy } from "../policy/policy.js";
import type { Policy } from "../policy-port.js";

export const askForChanges: Policy = createPolicy();
