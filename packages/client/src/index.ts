/** `@chimera/client`: a typed client of the HTTP API, for browsers and Node. It needs only `fetch`. */
export type { SessionRecord } from "@chimera/acp-schema/events";
export { type Client, createClient, type Pages } from "./client.js";
export { ClientError, type ClientErrorCode } from "./error.js";
export type { CallOptions, CallRoute, ClientOptions } from "./send.js";
export { type ServerEvent, serverEvents } from "./server-events.js";
export type { PromptOptions, Session, Turn, TurnResult } from "./session.js";
export type { FollowOptions, Watched, WatchOptions } from "./stream.js";
export type { Input, Output, RouteName, StreamName } from "./types.js";
