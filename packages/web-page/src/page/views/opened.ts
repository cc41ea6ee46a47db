/** Every view but the list: one chunk, loaded when the first of them is opened. */
export { Approvals } from "./asked.js";
export { Changes } from "./changes.js";
export { NewSession } from "./new-session.js";
export { Runs } from "./runs.js";
export { SessionView } from "./session-view.js";
