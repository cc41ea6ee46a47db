/** Shows the caller to itself, signs pages in and out, and lists the pages that are signed in. */
import type { MeReply, PageCodeReply, PageTokenReply, PageTokensReply } from "@chimera/acp-schema/http";
import { amounts } from "../amounts.js";
import type { Caller } from "../deps.js";
import { HttpError } from "../http-error.js";
import { LIMITS } from "../limits.js";
import { readBody } from "../request/body.js";
import { type Handlers, nameOf, pathPart, type RouteDeps } from "./route.js";

export function pageRoutes({ deps, pageTokens, refuse }: RouteDeps) {
  /** The pages that a caller may list and end. */
  const pagesOf = (caller: Caller) =>
    pageTokens.list().filter(({ person }) => mayAll(caller) || (caller.person && person === caller.person.name));
  return {
    "GET /me": (c) => {
      const { kind, person } = c.get("caller");
      const by = kind === "session" ? "master" : kind;
      const { quota } = deps.sessions;
      return c.json({
        name: person?.name ?? null,
        role: person?.role ?? "admin",
        by,
        limits: amounts(person ? quota.each : quota.all),
        used: amounts(quota.use()),
      } satisfies MeReply);
    },

    "POST /page/codes": (c) => {
      const caller = c.get("caller");
      refusePage(caller);
      const code = pageTokens.code(caller.kind === "user" ? caller : undefined);
      return c.json({ code, expires_seconds: LIMITS.pageCodeMs / 1000 } satisfies PageCodeReply, 201);
    },

    "POST /page/tokens": async (c) => {
      const { code } = await readBody(c, "POST /page/tokens");
      // The code stands on the command line of the browser, which other users of the machine can read. So only this user may exchange it.
      const socket = c.env?.incoming?.socket;
      const isOwn = !deps.isOwnUser || !socket || (await deps.isOwnUser(socket));
      const signedIn = isOwn ? pageTokens.exchange(code, nameOf(c)) : null;
      if (!signedIn) throw await refuse(c, "this code is wrong, too old or used already: ask for a new one");
      return c.json({ ...signedIn, idle_seconds: LIMITS.pageIdleMs / 1000 } satisfies PageTokenReply, 201);
    },

    "GET /page/tokens": (c) => {
      const caller = c.get("caller");
      refusePage(caller);
      return c.json({ tokens: pagesOf(caller) } satisfies PageTokensReply);
    },

    "DELETE /page/tokens/{token_id}": (c) => {
      const id = pathPart(c, "token_id");
      const caller = c.get("caller");
      if (caller.kind === "page" && caller.id !== id) refusePage(caller);
      const isTheirs = caller.kind === "page" || pagesOf(caller).some((one) => one.id === id);
      if (!isTheirs || !pageTokens.revoke(id)) throw new HttpError(404, "not_found", "there is no such page token");
      return c.body(null, 204);
    },
  } satisfies Handlers;
}

// --- internal ---

function mayAll({ kind, person }: Caller): boolean {
  return kind === "master" || person?.role === "admin";
}

function refusePage({ kind }: Caller): void {
  if (kind === "page") throw new HttpError(403, "admin_only", "a page can sign out itself; the rest takes a token");
}
