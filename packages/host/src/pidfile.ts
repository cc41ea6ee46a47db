/** `@chimera/host/pidfile`: which servers run, and how to stop them; for programs that embed one. */
export { HostError, type HostErrorCode, isHostError } from "./errors.js";
export { addressOf, type ListOptions, listPidfiles, type PidfileEntry, runningServers } from "./pidfile/list.js";
export type { PidRecord } from "./pidfile/record.js";
export { type StopFailure, type StopOptions, type StopResult, stopAll } from "./pidfile/stop.js";
export { type Bound, refuseSecond, takePort } from "./pidfile/take-port.js";
export { type Pidfile, type WritePidfileOptions, writePidfile } from "./pidfile/write.js";
