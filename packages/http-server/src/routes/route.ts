/** The types and helpers that route handlers share. */
import type { RouteName } from "@chimera/acp-schema/http";
import type { Context } from "hono";
import type { PageTokens } from "../auth/page-tokens.js";
import type { Refuse } from "../auth/refusals.js";
import type { SessionTokens } from "../auth/token.js";
import type { Creations } from "../creations.js";
import type { AppDeps, AppEnv } from "../deps.js";
import type { Metrics } from "../metrics.js";
import type { CreateSession, OpenSession } from "../open-session.js";
import type { Everybody } from "../stream/rows.js";
import type { Streams } from "../stream/streams.js";

export type Handler = (c: Context<AppEnv>) => Response | Promise<Response>;

/** Handlers by the name of their route in `@chimera/acp-schema`. */
export type Handlers = { readonly [K in RouteName]?: Handler };

/** The state that the routes of an app share. */
export interface RouteDeps {
  readonly deps: AppDeps;
  /** Also the sessions that the person of `deps.sessions` may not see. */
  readonly everybody: Everybody;
  readonly openSession: OpenSession;
  readonly createSession: CreateSession;
  readonly creations: Creations;
  readonly tokens: SessionTokens;
  readonly pageTokens: PageTokens;
  readonly refuse: Refuse;
  readonly metrics: Metrics;
  readonly streams: Streams;
  /** Registers a function that the app calls and awaits when it closes. */
  readonly onClose: (close: () => Promise<void>) => void;
  readonly clock: () => number;
}

/** A named part of the path. */
export function pathPart(
  c: Context<AppEnv>,
  name: "id" | "pid" | "qid" | "snap" | "name" | "run_id" | "token_id",
): string {
  return c.req.param(name) ?? "";
}

/** The name of the caller's program, from its `User-Agent`. */
export function nameOf(c: Context<AppEnv>): string | null {
  return c.req.header("user-agent")?.slice(0, 100) ?? null;
}

/** Whether the caller has only the token of a session. */
export function isGuest(c: Context<AppEnv>): boolean {
  return c.get("caller").kind === "session";
}
