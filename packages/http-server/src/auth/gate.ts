/** Lets a request through to its route, or answers it: by the tier of the route and the token it carries, or by its user where no token is set. */
import type { Tier } from "@chimera/acp-schema/http";
import type { Context } from "hono";
import type { AppEnv, Caller } from "../deps.js";
import { HttpError } from "../http-error.js";
import type { IsOwnUser } from "./peer.js";
import type { Refusals } from "./refusals.js";
import { bearerToken, digest, type SessionTokens, sameDigest } from "./token.js";

export type Gate = (c: Context<AppEnv>, tier: Tier) => Promise<void>;

const MASTER: Caller = { kind: "master" };
/** The life of a token that another node looks after. */
const NEVER = new AbortController().signal;

export function createGate(options: {
  readonly authToken: string | undefined;
  /** Undefined: without a token everybody is the master. */
  readonly isOwnUser: IsOwnUser | undefined;
  readonly tokens: SessionTokens;
  readonly refusals: Refusals;
}): Gate {
  const { tokens, refusals, isOwnUser } = options;
  const master = options.authToken === undefined ? null : digest(options.authToken);

  const refusal = async (c: Context<AppEnv>, message: string): Promise<HttpError> => {
    const address = c.env?.incoming?.socket?.remoteAddress ?? "";
    if (await refusals.turn(address)) {
      c.header("WWW-Authenticate", "Bearer");
      return new HttpError(401, "unauthorized", message);
    }
    c.header("Retry-After", "2");
    return new HttpError(429, "too_many_refusals", "too many requests without a valid token");
  };

  return async (c, tier) => {
    const forwarded = c.env?.forwarded;
    if (forwarded) return c.set("caller", forwarded === "session" ? { kind: forwarded, life: NEVER } : MASTER);
    if (tier === "open") return c.set("caller", MASTER);
    if (master === null) {
      const socket = c.env?.incoming?.socket;
      if (!isOwnUser || !socket || (await isOwnUser(socket))) return c.set("caller", MASTER);
      throw await refusal(c, "without a token this server is open to the user who started it; see --auth-token-file");
    }
    const token = bearerToken(c.req.header("authorization"));
    const presented = token === null ? null : digest(token);
    if (presented && sameDigest(master, presented)) return c.set("caller", MASTER);
    const id = c.req.param("id");
    const life = presented && id !== undefined && tier !== "master" ? await tokens.check(id, presented) : null;
    if (life && tier === "session") return c.set("caller", { kind: "session", life });
    if (life) throw new HttpError(403, "admin_only", "this takes the master token");
    throw await refusal(c, "missing or invalid bearer token");
  };
}
