/** How the page signs in, and who is signed in. */
import type { PageCodeReply, PageTokenReply, PageTokensReply } from "@chimera/acp-schema/http";
import { HttpError } from "../http-error.js";
import { LIMITS } from "../limits.js";
import { readBody } from "../request/body.js";
import { type Handlers, nameOf, type Parts, pathPart } from "./route.js";

export function pageRoutes({ deps, pageTokens, refuse }: Parts) {
  return {
    "POST /page/codes": (c) =>
      c.json({ code: pageTokens.code(), expires_seconds: LIMITS.pageCodeMs / 1000 } satisfies PageCodeReply, 201),

    "POST /page/tokens": async (c) => {
      const { code } = await readBody(c, "POST /page/tokens");
      // A browser is started with the code on its command line, which other users can read: it is for this user alone.
      const socket = c.env?.incoming?.socket;
      const isOwn = !deps.isOwnUser || !socket || (await deps.isOwnUser(socket));
      const signedIn = isOwn ? pageTokens.exchange(code, nameOf(c)) : null;
      if (!signedIn) throw await refuse(c, "this code is wrong, too old or used already: ask for a new one");
      return c.json({ ...signedIn, idle_seconds: LIMITS.pageIdleMs / 1000 } satisfies PageTokenReply, 201);
    },

    "GET /page/tokens": (c) => c.json({ tokens: pageTokens.list() } satisfies PageTokensReply),

    "DELETE /page/tokens/{token_id}": (c) => {
      const id = pathPart(c, "token_id");
      const caller = c.get("caller");
      if (caller.kind === "page" && caller.id !== id) {
        throw new HttpError(403, "admin_only", "a page can sign out itself; others take the master token");
      }
      if (!pageTokens.revoke(id)) throw new HttpError(404, "not_found", "there is no such page token");
      return c.body(null, 204);
    },
  } satisfies Handlers;
}
