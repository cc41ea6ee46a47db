/**
 * Decides whether a request reaches its route. The tier of the route and the token of the request decide; a server without a token looks at
 * the user who made the connection.
 */
import type { Tier } from "@chimera/acp-schema/http";
import type { Context } from "hono";
import type { AppEnv, Caller, People } from "../deps.js";
import { HttpError } from "../http-error.js";
import type { PageTokens } from "./page-tokens.js";
import type { IsOwnUser } from "./peer.js";
import type { Refuse } from "./refusals.js";
import { bearerToken, createLife, digest, type SessionTokens, sameDigest } from "./token.js";

/** The life of a forwarded caller. The node that took the request watches the caller's token. */
const NEVER = createLife().signal;

export function createGate(options: {
  readonly authToken: string | undefined;
  /** Undefined: if no token is set, every caller is the master. */
  readonly isOwnUser: IsOwnUser | undefined;
  readonly tokens: SessionTokens;
  readonly pageTokens: PageTokens;
  readonly people: People | undefined;
  readonly refuse: Refuse;
}) {
  const { tokens, pageTokens, people, refuse, isOwnUser } = options;
  let master = options.authToken === undefined ? null : digest(options.authToken);
  let life = createLife();
  let asMaster: Caller = { kind: "master", life: life.signal };

  /** @param id the session that the path names */
  const gate = async (c: Context<AppEnv>, tier: Tier, id = c.req.param("id")): Promise<void> => {
    const forwarded = c.env?.forwarded;
    if (forwarded) return c.set("caller", forwardedCaller(forwarded));
    if (tier === "open") return c.set("caller", asMaster);
    const isPrivate = c.env?.isPrivate === true;
    if (master === null && !people) {
      const socket = c.env?.incoming?.socket;
      if (!isOwnUser || isPrivate || !socket || (await isOwnUser(socket))) return c.set("caller", asMaster);
      throw await refuse(c, "without a token this server is open to the user who started it; see --auth-token-file");
    }
    const token = bearerToken(c.req.header("authorization"));
    if (token === null && isPrivate) return c.set("caller", asMaster);
    const presented = token === null ? null : digest(token);
    if (master && presented && sameDigest(master, presented)) return c.set("caller", asMaster);
    const incoming = c.env?.incoming;
    // A proxy may pass a token on that is not for this server.
    const user = (presented && people?.find(presented)) ?? (incoming && people?.ofProxy(incoming));
    const page = presented && pageTokens.check(presented);
    const person = (user ?? page)?.person;
    if (user && (tier !== "master" || person?.role === "admin")) return c.set("caller", { kind: "user", ...user });
    if (page && tier !== "master" && tier !== "any") return c.set("caller", { kind: "page", ...page });
    if (presented && tier === "any") {
      const found = await tokens.find(presented, c.req.header("acp-session-id"));
      if (found) return c.set("caller", { kind: "session", session: found.id, life: found.life });
    }
    const ofSession = presented && id !== undefined && (tier === "session" || tier === "admin");
    const ofToken = ofSession ? await tokens.check(id, presented) : null;
    if (ofToken && tier === "session") return c.set("caller", { kind: "session", session: id ?? "", life: ofToken });
    if (user || page || ofToken) throw new HttpError(403, "admin_only", "this needs the master token");
    throw await refuse(c, "missing or invalid bearer token");
  };
  return Object.assign(gate, {
    /** Replaces the master token, and closes everything that was opened with the old one. */
    changeMaster(token: string) {
      const next = digest(token);
      if (!master || sameDigest(master, next)) return;
      master = next;
      life.abort();
      life = createLife();
      asMaster = { kind: "master", life: life.signal };
    },
  });
}

// --- internal ---

/** A caller that another node has authorized. */
function forwardedCaller({ kind, person, by }: Pick<Caller, "kind" | "person" | "by">): Caller {
  if (kind === "session") return { kind, session: "", life: NEVER };
  return person ? { kind: "user", person, by, life: NEVER } : { kind: "master", life: NEVER };
}
