/** `@chimera/http-server`: REST and Server-Sent Events over any session engine. */
export { createApp } from "./app.js";
export type { AppDeps, AppEnv } from "./deps.js";
export { HttpError, isHttpError } from "./errors.js";
