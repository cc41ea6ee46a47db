/** `@chimera/http-server`: REST and Server-Sent Events over any sessions. */
export { type App, createApp } from "./app.js";
export { createOwnUserCheck, type IsOwnUser } from "./auth/peer.js";
export { createLife } from "./auth/token.js";
export type { AppDeps, AppEnv, PageFile, People } from "./deps.js";
export { HttpError, isHttpError } from "./http-error.js";
export { LIMITS } from "./limits.js";
export { METRICS } from "./metrics.js";
export type { CreatedSession, CreateSession } from "./open-session.js";
